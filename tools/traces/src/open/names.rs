//! Parses file names.

use super::decompress::Compression;
use crate::Rank;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Content {
    /// A rank's binary file: preferred to a text, which contains less.
    Binary,
    Text,
}

/// A rank's file, such as `dumpi-2014.03.06.23.48.13-0007.bin`, with or without a compression
/// suffix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RankName<'a> {
    pub(super) prefix: &'a str,
    pub(super) rank: Rank,
    pub(super) content: Content,
}

/// Parses a rank's file name; `None` for other names.
pub(super) fn rank_name(name: &str) -> Option<RankName<'_>> {
    let name = without_compression(name);
    let (stem, content) = match name.rsplit_once('.')? {
        (stem, "bin") => (stem, Content::Binary),
        (stem, "txt") => (stem, Content::Text),
        _ => return None,
    };
    let (prefix, rank) = rank_of(stem)?;
    Some(RankName {
        prefix,
        rank,
        content,
    })
}

/// Parses the name of a file of call sites such as `lammps-0007.sites`: prefix and rank.
pub(super) fn sites_name(name: &str) -> Option<(&str, Rank)> {
    rank_of(name.strip_suffix(".sites")?)
}

fn rank_of(stem: &str) -> Option<(&str, Rank)> {
    let (prefix, digits) = stem.rsplit_once('-')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let rank = Rank::new(digits.parse().ok().filter(|_| is_number)?).ok()?;
    Some((prefix, rank))
}

fn without_compression(name: &str) -> &str {
    Compression::SUFFIXES
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
}

pub(super) fn is_archive(name: &str) -> bool {
    [".tgz", ".txz", ".tzst"]
        .iter()
        .any(|suffix| name.ends_with(suffix))
        || without_compression(name).ends_with(".tar")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ranks() {
        let rank = |rank, prefix, content| RankName {
            prefix,
            rank: Rank::new(rank).expect("a rank"),
            content,
        };
        let date = "dumpi-2014.03.06.23.48.13";
        for (name, expected) in [
            (
                "dumpi-2014.03.06.23.48.13-0007.bin",
                rank(7, date, Content::Binary),
            ),
            (
                "dumpi-2014.03.06.23.48.13-12345.bin.zst",
                rank(12345, date, Content::Binary),
            ),
            ("rank-0000.txt.xz", rank(0, "rank", Content::Text)),
            ("-3.bin", rank(3, "", Content::Binary)),
        ] {
            assert_eq!(rank_name(name), Some(expected), "{name}");
        }
        for name in [
            "BigFFT.bin",
            "a-b.bin",
            "a-.bin",
            "a-+1.bin",
            "a-99999999999.bin",
            "a-1.csv",
            "a-1",
            "",
        ] {
            assert_eq!(rank_name(name), None, "{name}");
        }
    }

    #[test]
    fn names_of_archives() {
        assert!(
            ["a.tar", "a.tar.xz", "a.tgz", "lulesh.dumpi.tar.gz"]
                .iter()
                .all(|name| is_archive(name))
        );
        assert!(
            !["a-0000.bin.xz", "tar", "a.tar.bz2"]
                .iter()
                .any(|name| is_archive(name))
        );
    }
}
