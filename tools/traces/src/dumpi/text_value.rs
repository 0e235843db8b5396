//! Parses values as `dumpi2ascii` prints them.

use super::clock::Time;
use crate::Status;

/// Stands for a list that the program or the recorder omitted.
const IGNORED: &[u8] = b"<IGNORED>";

/// The leading number, and the rest.
#[inline]
pub(super) fn number(text: &[u8]) -> Option<(i64, &[u8])> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let length = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if length == 0 || length > 18 {
        return None;
    }
    let value = digits[..length]
        .iter()
        .fold(0_i64, |value, digit| value * 10 + i64::from(digit - b'0'));
    Some((if negative { -value } else { value }, &digits[length..]))
}

/// The number of a line such as `9 (MPI_INT)`, or `[5]` as a single request is printed.
#[inline]
pub(super) fn single(text: &[u8]) -> Option<i64> {
    let inner = match text {
        [b'[', inner @ .., b']'] => inner,
        text => text,
    };
    let (value, rest) = number(inner)?;
    (rest.is_empty() || rest.starts_with(b" (")).then_some(value)
}

/// The text between the brackets of a list; empty for an omitted list.
pub(super) fn list(text: &[u8]) -> Option<&[u8]> {
    match text {
        [b'[', inner @ .., b']'] => Some(inner),
        text if text == IGNORED => Some(&[]),
        _ => None,
    }
}

/// The numbers of a list. It stops at anything else, which stays in `rest`.
#[derive(Debug)]
pub(super) struct Numbers<'a> {
    pub(super) rest: &'a [u8],
}

impl Iterator for Numbers<'_> {
    type Item = i32;

    #[inline]
    fn next(&mut self) -> Option<i32> {
        let (value, rest) = number(self.rest)?;
        let value = i32::try_from(value).ok()?;
        self.rest = match rest {
            [] => rest,
            [b',', b' ', rest @ ..] if !rest.is_empty() => rest,
            // An invalid continuation: it stays, and the number is not taken either.
            _ => return None,
        };
        Some(value)
    }
}

/// The statuses of a list. It stops at anything else, which stays in `rest`.
#[derive(Debug)]
pub(super) struct Statuses<'a> {
    pub(super) rest: &'a [u8],
}

impl Iterator for Statuses<'_> {
    type Item = Status;

    #[inline]
    fn next(&mut self) -> Option<Status> {
        let (status, rest) = status(self.rest)?;
        self.rest = match rest {
            [] => rest,
            [b',', b' ', rest @ ..] if !rest.is_empty() => rest,
            _ => return None,
        };
        Some(status)
    }
}

#[inline]
fn status(text: &[u8]) -> Option<(Status, &[u8])> {
    fn field<'a>(text: &'a [u8], name: &[u8]) -> Option<(i32, &'a [u8])> {
        let (value, rest) = number(text.strip_prefix(name)?)?;
        Some((i32::try_from(value).ok()?, rest))
    }
    let (bytes, text) = field(text, b"{bytes=")?;
    let (cancelled, text) = field(text, b", cancelled=")?;
    let (source, text) = field(text, b", source=")?;
    let (tag, text) = field(text, b", tag=")?;
    let (error, text) = field(text, b", error=")?;
    let text = text.strip_prefix(b"}")?;
    // The file has one byte of the error, which some versions print with a sign.
    Some((
        Status {
            bytes: i64::from(bytes),
            source,
            tag,
            cancelled: cancelled != 0,
            error: error as u8,
        },
        text,
    ))
}

/// The texts of a list such as `["a", "b"]`. Nothing is escaped, so a text that contains `", "`
/// splits in two.
pub(super) fn texts(inner: &[u8]) -> impl Iterator<Item = &[u8]> {
    let inner = inner.strip_prefix(b"\"").unwrap_or(inner);
    let inner = inner.strip_suffix(b"\"").unwrap_or(inner);
    let mut rest = Some(inner).filter(|inner| !inner.is_empty());
    std::iter::from_fn(move || {
        let text = rest?;
        match memchr::memmem::find(text, b"\", \"") {
            Some(at) => {
                rest = Some(&text[at + 4..]);
                Some(&text[..at])
            }
            None => {
                rest = None;
                Some(text)
            }
        }
    })
}

/// A time such as `1407.308891278`: seconds, nanoseconds, and the rest.
#[inline]
pub(super) fn time(text: &[u8]) -> Option<(Time, &[u8])> {
    let (seconds, rest) = number(text)?;
    let fraction = rest.strip_prefix(b".")?;
    let (digits, rest) = fraction.split_at_checked(9)?;
    let (ns, left) = number(digits)?;
    // Nine digits always fit; a negative number does not.
    let ns = u32::try_from(ns).ok()?;
    // The file has 32-bit seconds, so more are damage, which must not overflow later.
    let in_range = left.is_empty() && seconds.unsigned_abs() <= 1 << 33;
    in_range.then_some((Time { seconds, ns }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_all_their_forms() {
        assert_eq!(single(b"9 (MPI_INT)"), Some(9));
        assert_eq!(single(b"[-5]"), Some(-5));
        assert_eq!(single(b"-32766"), Some(-32766));
        for bad in [
            "",
            "-",
            "[]",
            "5x",
            "9(MPI_INT)",
            "1234567890123456789",
            "[5",
        ] {
            assert_eq!(single(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn lists_end_where_they_are_wrong() {
        let all = |text: &[u8]| {
            let mut numbers = Numbers {
                rest: list(text).expect("a list"),
            };
            let values: Vec<i32> = numbers.by_ref().collect();
            (values, numbers.rest.is_empty())
        };
        assert_eq!(all(b"[4, -1, 5]"), (vec![4, -1, 5], true));
        assert_eq!(all(b"[]"), (vec![], true));
        assert_eq!(all(b"<IGNORED>"), (vec![], true));
        assert_eq!(all(b"[4, ]"), (vec![], false));
        assert_eq!(all(b"[4, x]"), (vec![4], false));
        assert_eq!(all(b"[4;5]"), (vec![], false));
        assert_eq!(all(b"[9999999999]"), (vec![], false));
        assert!(list(b"[4, 5").is_none());
    }

    #[test]
    fn statuses_in_the_order_of_the_text() {
        let text = b"{bytes=4, cancelled=1, source=-2, tag=7, error=200}, \
            {bytes=0, cancelled=0, source=1, tag=2, error=-3}";
        let mut statuses = Statuses { rest: text };
        let first = Status {
            bytes: 4,
            source: -2,
            tag: 7,
            cancelled: true,
            error: 200,
        };
        assert_eq!(statuses.next(), Some(first));
        assert_eq!(statuses.next().map(|status| status.error), Some(253));
        assert!(statuses.next().is_none() && statuses.rest.is_empty());
    }

    #[test]
    fn texts_and_times() {
        let words: Vec<_> = texts(b"\"./a b\", \"\", \"c\"").collect();
        assert_eq!(words, [&b"./a b"[..], b"", b"c"]);
        assert_eq!(texts(b"").count(), 0);
        assert_eq!(
            time(b"1407.008891278, cpu"),
            Some((
                Time {
                    seconds: 1407,
                    ns: 8_891_278
                },
                &b", cpu"[..]
            ))
        );
        assert_eq!(time(b"14.5"), None);
        assert_eq!(time(b"14.-12345678"), None);
    }
}
