//! Call sites: the program locations of calls, from the recorder's file (docs/record.md).

use std::path::PathBuf;

/// A location in a program: an executable or shared library, and a link-time address in it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Site {
    /// Path of the executable or library at recording time.
    pub object: PathBuf,
    /// An address within the calling instruction.
    pub address: u64,
}

/// The program locations of one rank's calls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallSites {
    sites: Vec<Site>,
    /// Numbers of calls, ascending, each with the index of its site.
    calls: Vec<(u64, u32)>,
}

/// An invalid line: its number from 1, and the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BadLine {
    pub(super) line: u64,
    pub(super) what: &'static str,
}

const FIRST_LINE: &str = "dpamatch call sites 1";

impl CallSites {
    /// Parses the file's text, except a truncated last line.
    pub(super) fn parse(text: &str) -> Result<Self, BadLine> {
        let mut objects: Vec<PathBuf> = Vec::new();
        let mut all = Self::default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for (at, line) in whole.lines().enumerate() {
            let bad = |what| BadLine {
                line: at as u64 + 1,
                what,
            };
            if at == 0 {
                if line != FIRST_LINE {
                    return Err(bad("is not the header of a file of call sites"));
                }
                continue;
            }
            let mut words = line.splitn(3, ' ');
            let mut word = || words.next().unwrap_or_default();
            let (kind, number, rest) = (word(), word(), word());
            let number: u64 = number.parse().map_err(|_| bad("has no number"))?;
            match kind {
                "object" if number == objects.len() as u64 => objects.push(rest.into()),
                "site" if number == all.sites.len() as u64 => {
                    let (object, address) =
                        rest.split_once(' ').ok_or_else(|| bad("has no address"))?;
                    let object = object.parse().ok().and_then(|at: usize| objects.get(at));
                    let address = u64::from_str_radix(address, 16);
                    all.sites.push(Site {
                        object: object
                            .ok_or_else(|| bad("names an unknown object"))?
                            .clone(),
                        address: address.map_err(|_| bad("has no address"))?,
                    });
                }
                "call" if all.calls.last().is_none_or(|&(last, _)| last < number) => {
                    let site: u32 = rest.parse().map_err(|_| bad("names no site"))?;
                    if site as usize >= all.sites.len() {
                        return Err(bad("names an unknown site"));
                    }
                    all.calls.push((number, site));
                }
                "object" | "site" | "call" => return Err(bad("is out of order")),
                _ => return Err(bad("is neither object nor site nor call")),
            }
        }
        Ok(all)
    }

    /// The site of a call, by its number from 0: a binary search.
    pub fn of(&self, call: u64) -> Option<&Site> {
        self.get(self.number_of(call)?)
    }

    /// The number of that site, for [`get`](Self::get).
    pub fn number_of(&self, call: u64) -> Option<u32> {
        let at = self
            .calls
            .binary_search_by_key(&call, |&(number, _)| number)
            .ok()?;
        Some(self.calls[at].1)
    }

    /// The location with this number.
    pub fn get(&self, number: u32) -> Option<&Site> {
        self.sites.get(number as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "dpamatch call sites 1\nobject 0 /a program/x\nsite 0 0 12ab\ncall 3 0\n\
                        object 1 /lib/y.so\nsite 1 1 ff\ncall 5 1\ncall 9 0\n";

    #[test]
    fn calls_have_their_sites() {
        let sites = CallSites::parse(TEXT).expect("sites");
        let site = |object: &str, address| Site {
            object: object.into(),
            address,
        };
        assert_eq!(sites.of(3), Some(&site("/a program/x", 0x12ab)));
        assert_eq!(sites.of(5), Some(&site("/lib/y.so", 0xff)));
        assert_eq!(sites.of(9), sites.of(3));
        assert_eq!(sites.of(4), None);
        let cut = &TEXT[..TEXT.len() - 1];
        assert_eq!(
            CallSites::parse(cut).expect("sites").of(9),
            None,
            "its end is not sure"
        );
        assert_eq!(CallSites::parse(""), Ok(CallSites::default()));
    }

    #[test]
    fn other_lines_are_refused() {
        let refused =
            |line: &str| CallSites::parse(&format!("{TEXT}{line}\n")).expect_err("a bad line");
        for (line, what) in [
            ("call 9 0", "is out of order"),
            ("call 10 2", "names an unknown site"),
            ("call ten 1", "has no number"),
            ("site 2 7 0", "names an unknown object"),
            ("site 2 1 0x1", "has no address"),
            ("object 7 /z", "is out of order"),
            ("wrong 1 2", "is neither object nor site nor call"),
        ] {
            assert_eq!(refused(line), BadLine { line: 9, what }, "{line}");
        }
        assert!(CallSites::parse("other\n").is_err());
    }
}
