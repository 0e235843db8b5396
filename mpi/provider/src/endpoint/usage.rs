//! The use of an endpoint's matching by communicator, by kind and over time. Counted only if
//! statistics are enabled.

use std::collections::VecDeque;
use std::fmt::Display;
use std::time::{Instant, SystemTime};

use dpamatch_vocabulary::{CommId, Selector, WildcardClass};

use super::library::{Kind, Library};
use crate::matcher::{Criteria, MessageHeader};
use crate::wire::PeerId;

/// Counts of one context, or of several together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Use {
    /// Receives, by wildcard class.
    posts: [u64; 4],
    cancels: u64,
    /// Probes that the matcher answered.
    probes: u64,
    messages: u64,
    bytes: u64,
    /// Messages whose receive was there first.
    expected: u64,
    posted_high: u64,
    unexpected_high: u64,
    posted_now: u64,
    unexpected_now: u64,
}

impl Use {
    fn add(&mut self, other: &Self) {
        self.posts
            .iter_mut()
            .zip(other.posts)
            .for_each(|(mine, theirs)| *mine += theirs);
        self.cancels += other.cancels;
        self.probes += other.probes;
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.expected += other.expected;
        self.posted_high = self.posted_high.max(other.posted_high);
        self.unexpected_high = self.unexpected_high.max(other.unexpected_high);
    }

    /// The counts by their names in the statistics.
    fn counts(self) -> [(&'static str, u64); 11] {
        let [exact, any_source, any_tag, both] =
            WildcardClass::ALL.map(|class| self.posts[class as usize]);
        [
            ("messages", self.messages),
            ("bytes", self.bytes),
            (
                "unexpected",
                self.messages - self.expected.min(self.messages),
            ),
            ("posts", exact + any_source + any_tag + both),
            ("posts_any_source", any_source),
            ("posts_any_tag", any_tag),
            ("posts_any", both),
            ("probes", self.probes),
            ("cancels", self.cancels),
            ("posted_high", self.posted_high),
            ("unexpected_high", self.unexpected_high),
        ]
    }
}

/// The members of a JSON object; each value is JSON.
pub(super) fn members<V: Display>(rows: impl IntoIterator<Item = (&'static str, V)>) -> String {
    let rows = rows
        .into_iter()
        .map(|(name, value)| format!("\"{name}\": {value}"));
    rows.collect::<Vec<_>>().join(", ")
}

/// There are no contexts where all bits are compared.
const NO_CONTEXT: u64 = u64::MAX;

/// Most columns over time. Beyond it, pairs of columns are merged.
const COLUMNS: usize = 256;
/// Length of a column in the beginning.
const COLUMN_NS: u64 = 1 << 20;

/// Queue lengths and arrivals over time.
#[derive(Debug)]
struct Depths {
    begin: Instant,
    begin_unix_ns: u128,
    column_ns: u64,
    columns: Vec<Column>,
    now: (u64, u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Column {
    /// Longest posted queue.
    posted: u64,
    /// Most unexpected messages.
    unexpected: u64,
    messages: u64,
}

impl Depths {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            begin: Instant::now(),
            begin_unix_ns: now.map_or(0, |now| now.as_nanos()),
            column_ns: COLUMN_NS,
            columns: Vec::with_capacity(COLUMNS),
            now: (0, 0),
        }
    }

    /// Records the queue lengths at `at_ns` and the messages since the last call.
    fn note(&mut self, at_ns: u64, posted: u64, unexpected: u64, messages: u64) {
        while at_ns / self.column_ns >= COLUMNS as u64 {
            self.column_ns *= 2;
            let pairs = self.columns.chunks(2).map(|pair| Column {
                posted: pair.iter().map(|column| column.posted).max().unwrap_or(0),
                unexpected: pair
                    .iter()
                    .map(|column| column.unexpected)
                    .max()
                    .unwrap_or(0),
                messages: pair.iter().map(|column| column.messages).sum(),
            });
            self.columns = pairs.collect();
        }
        let at = (at_ns / self.column_ns) as usize;
        while self.columns.len() <= at {
            // The queues keep their lengths while nothing happens.
            let (posted, unexpected) = self.now;
            self.columns.push(Column {
                posted,
                unexpected,
                messages: 0,
            });
        }
        let column = &mut self.columns[at];
        column.posted = column.posted.max(posted);
        column.unexpected = column.unexpected.max(unexpected);
        column.messages += messages;
        self.now = (posted, unexpected);
    }

    fn to_json(&self) -> String {
        let list = |value: fn(&Column) -> u64| {
            let values: Vec<_> = self.columns.iter().map(|c| value(c).to_string()).collect();
            format!("[{}]", values.join(","))
        };
        let depths = members([
            ("begin_unix_ns", self.begin_unix_ns.to_string()),
            ("column_ns", self.column_ns.to_string()),
            ("posted", list(|column| column.posted)),
            ("unexpected", list(|column| column.unexpected)),
            ("messages", list(|column| column.messages)),
        ]);
        format!("{{ {depths} }}")
    }
}

/// The use of an endpoint's matcher.
#[derive(Debug)]
pub(super) struct Usage {
    /// By communicator of the rule.
    uses: Vec<Use>,
    /// The counts under earlier rules, by context.
    past: Vec<(u64, Use)>,
    /// Untagged messages, to which no rule applies: MPI libraries use them internally.
    untagged: Use,
    /// Numbers of the next receive and message to count.
    next_post: u64,
    next_message: u64,
    depths: Depths,
    /// Messages since the depths were noted.
    messages: u64,
    /// Whether all bits are compared, without communicators.
    all_bits: bool,
    /// When the endpoint was opened, by the coarse clock.
    begin_ms: u64,
    /// When a receive, message or probe last reached the matcher.
    busy_ms: u32,
    /// The last messages that receives with a wildcard took, the latest last.
    pub(super) taken: VecDeque<WildcardMatch>,
    /// The last probe, if it found nothing, and when it was first made.
    pub(super) failed_probe: Option<(FailedProbe, u32)>,
}

/// A probe that found nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FailedProbe {
    pub(super) peer: Option<PeerId>,
    pub(super) bits: u64,
    pub(super) ignore: u64,
    /// The endpoint's receives and sends until then.
    pub(super) after: [u64; 2],
}

/// A message that a receive with a wildcard took.
#[derive(Debug)]
pub(super) struct WildcardMatch {
    pub(super) by: Selector,
    pub(super) bits: u64,
    pub(super) peer: PeerId,
    pub(super) at_ms: u32,
}

/// Most messages in [`Usage::taken`].
const TAKEN_MAX: usize = 64;

/// Milliseconds of a clock that is a few milliseconds coarse and costs a few nanoseconds.
fn coarse_ms() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // Not rustix's function, which reads a page of the kernel that is not mapped under valgrind.
    // SAFETY: a place for the time. The clock exists, so the call does not fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut now) };
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

impl Usage {
    pub(super) fn new() -> Self {
        Self {
            uses: Vec::new(),
            past: Vec::new(),
            untagged: Use::default(),
            next_post: 0,
            next_message: 0,
            depths: Depths::new(),
            messages: 0,
            all_bits: false,
            begin_ms: coarse_ms(),
            busy_ms: 0,
            taken: VecDeque::with_capacity(TAKEN_MAX),
            failed_probe: None,
        }
    }

    /// Milliseconds since the endpoint was opened, at least 1.
    pub(super) fn now_ms(&self) -> u32 {
        (coarse_ms() - self.begin_ms) as u32 + 1
    }

    /// Milliseconds since the matcher last got an operation.
    pub(super) fn idle_ms(&self) -> u32 {
        self.now_ms().saturating_sub(self.busy_ms)
    }

    /// Notes the time of a receive or message that has none.
    pub(super) fn stamp(&self, since_ms: &mut u32) {
        if *since_ms == 0 {
            *since_ms = self.now_ms();
        }
    }

    /// Counts a receive that took a message.
    pub(super) fn count_match(
        &mut self,
        criteria: &Criteria,
        header: &MessageHeader,
        peer: PeerId,
        late: bool,
    ) {
        self.matched(criteria.comm, header.envelope.comm, late);
        if criteria.selector.class() == WildcardClass::Exact {
            return;
        }
        if self.taken.len() == TAKEN_MAX {
            self.taken.pop_front();
        }
        let (by, bits, at_ms) = (criteria.selector, header.bits, self.now_ms());
        self.taken.push_back(WildcardMatch {
            by,
            bits,
            peer,
            at_ms,
        });
    }

    fn of(&mut self, comm: CommId) -> &mut Use {
        let at = if self.all_bits { 0 } else { comm.0 as usize };
        if at >= self.uses.len() {
            self.uses.resize(at + 1, Use::default());
        }
        &mut self.uses[at]
    }

    /// Counts a receive that goes to the matcher, perhaps not for the first time.
    pub(super) fn posted(&mut self, comm: CommId, class: WildcardClass, number: u64) {
        let is_new = number >= self.next_post;
        self.next_post = self.next_post.max(number + 1);
        let of = self.of(comm);
        of.posts[class as usize] += u64::from(is_new);
        of.posted_now += 1;
        // Some find a message immediately, which only the matcher's decision shows.
        of.posted_high = of
            .posted_high
            .max(of.posted_now.saturating_sub(of.unexpected_now));
    }

    /// Counts a message that goes to the matcher, perhaps not for the first time.
    pub(super) fn arrived(&mut self, comm: CommId, bytes: usize, number: u64) {
        let is_new = number >= self.next_message;
        self.next_message = self.next_message.max(number + 1);
        self.messages += u64::from(is_new);
        let of = self.of(comm);
        of.unexpected_now += 1;
        if is_new {
            of.messages += 1;
            of.bytes += bytes as u64;
        }
    }

    /// Counts a receive and a message that left their queues together.
    fn matched(&mut self, posted_in: CommId, arrived_in: CommId, late: bool) {
        let of = self.of(posted_in);
        of.posted_now = of.posted_now.saturating_sub(1);
        let of = self.of(arrived_in);
        of.unexpected_now = of.unexpected_now.saturating_sub(1);
        of.expected += u64::from(!late);
    }

    pub(super) fn cancelled(&mut self, comm: CommId) {
        let of = self.of(comm);
        of.cancels += 1;
        of.posted_now = of.posted_now.saturating_sub(1);
    }

    /// Counts an answered probe; `taken`: a message left its queue.
    pub(super) fn probed(&mut self, comm: CommId, taken: bool) {
        let of = self.of(comm);
        of.probes += 1;
        of.unexpected_now = of.unexpected_now.saturating_sub(u64::from(taken));
    }

    /// An untagged message; `waits`: no receive was there.
    pub(super) fn untagged(&mut self, bytes: usize, waits: bool) {
        self.messages += 1;
        self.untagged.messages += 1;
        self.untagged.bytes += bytes as u64;
        self.untagged.expected += u64::from(!waits);
    }

    pub(super) fn posted_untagged(&mut self, class: WildcardClass) {
        self.untagged.posts[class as usize] += 1;
    }

    /// Records the lengths of all queues after the matcher has decided.
    pub(super) fn settled(&mut self, posted: u64, unexpected: u64) {
        for of in &mut self.uses {
            of.posted_high = of.posted_high.max(of.posted_now);
            of.unexpected_high = of.unexpected_high.max(of.unexpected_now);
        }
        self.busy_ms = self.now_ms();
        let at_ns = self.depths.begin.elapsed().as_nanos() as u64;
        self.depths.note(
            at_ns,
            posted,
            unexpected,
            std::mem::take(&mut self.messages),
        );
    }

    /// Begins another rule, or none (`all_bits`), with empty queues. `contexts` belong to the rule
    /// that ends.
    pub(super) fn begin_anew(&mut self, contexts: &[u64], all_bits: bool) {
        self.all_bits = all_bits;
        let ended = std::mem::take(&mut self.uses);
        self.past.extend(contexts.iter().copied().zip(ended));
    }

    /// Fields of the statistics. `protocol` and `contexts` are the rule's.
    pub(super) fn to_json(&self, protocol: u64, contexts: &[u64]) -> String {
        let library = Library::of(protocol);
        let now = if self.all_bits {
            &[NO_CONTEXT][..]
        } else {
            contexts
        };
        let mut rows: Vec<((u64, Kind), Use)> = Vec::new();
        let uses = now.iter().copied().zip(self.uses.iter().copied());
        for (context, used) in self.past.iter().copied().chain(uses) {
            let name = match context {
                NO_CONTEXT => (NO_CONTEXT, Kind::Unknown),
                context => library.decode(context & !(protocol >> 31)),
            };
            match rows.iter_mut().find(|(other, _)| *other == name) {
                Some((_, sum)) => sum.add(&used),
                None => rows.push((name, used)),
            }
        }
        rows.push(((NO_CONTEXT, Kind::Control), self.untagged));
        rows.retain(|(_, used)| *used != Use::default());
        rows.sort_by_key(|&(name, _)| name);
        let kinds = Kind::ALL.map(|kind| {
            let mut sum = Use::default();
            rows.iter()
                .filter(|row| row.0.1 == kind)
                .for_each(|(_, used)| sum.add(used));
            format!("\n    \"{}\": {{ {} }}", kind.name(), members(sum.counts()))
        });
        let communicators = rows.into_iter().map(|((number, kind), used)| {
            let (kind, counts) = (kind.name(), members(used.counts()));
            let number = if number == NO_CONTEXT {
                "null".to_owned()
            } else {
                number.to_string()
            };
            format!("\n    {{ \"communicator\": {number}, \"kind\": \"{kind}\", {counts} }}")
        });
        format!(
            ",\n  \"library\": \"{}\",\n  \"kinds\": {{{}\n  }},\n  \
             \"communicators\": [{}\n  ],\n  \"depth\": {}",
            library.name(),
            kinds.join(","),
            communicators.collect::<Vec<_>>().join(","),
            self.depths.to_json(),
        )
    }
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{Envelope, SourceSel, TagSel};

    use super::super::library::MPICH;
    use super::*;

    #[test]
    fn the_last_messages_that_wildcards_took_are_kept() {
        let mut usage = Usage::new();
        let selector = Selector::new(SourceSel::Any, TagSel::Any);
        let criteria = Criteria {
            bits: 0,
            ignore: 0,
            comm: CommId(0),
            selector,
        };
        for bits in 0..66 {
            let header = MessageHeader {
                bits,
                envelope: Envelope::default(),
            };
            usage.count_match(&criteria, &header, PeerId(3), false);
            let kept = usage.taken.iter().map(|taken| taken.bits);
            assert!(
                kept.eq((bits + 1).saturating_sub(64)..=bits),
                "after {bits}"
            );
        }
    }

    #[test]
    fn columns_become_longer_and_keep_the_highest() {
        let mut depths = Depths::new();
        depths.note(0, 3, 1, 10);
        depths.note(COLUMN_NS - 1, 1, 0, 1);
        depths.note(2 * COLUMN_NS, 0, 7, 4);
        assert_eq!(
            depths.columns,
            [
                Column {
                    posted: 3,
                    unexpected: 1,
                    messages: 11
                },
                Column {
                    posted: 1,
                    unexpected: 0,
                    messages: 0
                },
                Column {
                    posted: 1,
                    unexpected: 7,
                    messages: 4
                },
            ]
        );
        depths.note(COLUMN_NS * COLUMNS as u64, 2, 2, 5);
        assert_eq!(depths.column_ns, 2 * COLUMN_NS);
        assert_eq!(depths.columns.len(), COLUMNS / 2 + 1);
        assert_eq!(
            depths.columns[0],
            Column {
                posted: 3,
                unexpected: 1,
                messages: 11
            }
        );
        assert_eq!(
            depths
                .columns
                .iter()
                .map(|column| column.messages)
                .sum::<u64>(),
            20
        );
        assert_eq!(
            depths.columns[2],
            Column {
                posted: 0,
                unexpected: 7,
                messages: 0
            }
        );
        depths.columns.truncate(3);
        let text = "\"posted\": [3,1,0], \"unexpected\": [1,7,7], \"messages\": [11,4,0] }";
        assert!(
            depths
                .to_json()
                .ends_with(&format!(": {}, {text}", 2 * COLUMN_NS))
        );
    }

    #[test]
    fn what_a_rule_counted_before_goes_to_the_same_communicator() {
        let mut usage = Usage::new();
        let class = WildcardClass::AnyTag;
        // Before the bits are learned, two contexts are one communicator.
        usage.arrived(CommId(0), 8, 0);
        usage.arrived(CommId(1), 16, 1);
        (0..2).for_each(|at| usage.posted(CommId(at), WildcardClass::AnySource, at.into()));
        usage.begin_anew(&[6, 6 | MPICH >> 31], false);
        usage.arrived(CommId(0), 8, 0);
        usage.arrived(CommId(0), 16, 1);
        usage.posted(CommId(0), class, 2);
        usage.settled(1, 2);
        usage.matched(CommId(0), CommId(0), true);
        usage.untagged(100, true);
        usage.settled(1, 2);
        assert_eq!(
            usage
                .depths
                .columns
                .iter()
                .map(|column| column.messages)
                .sum::<u64>(),
            3
        );
        usage.posted_untagged(WildcardClass::AnySource);
        usage.posted_untagged(WildcardClass::AnySource);
        assert_eq!(usage.untagged.posts.iter().sum::<u64>(), 2);
        assert_eq!(usage.untagged.posts[WildcardClass::AnySource as usize], 2);
        let text = usage.to_json(MPICH, &[6]);
        let line = "{ \"communicator\": 6, \"kind\": \"user\", \"messages\": 2, \"bytes\": 24, \
                    \"unexpected\": 2, \"posts\": 3, \"posts_any_source\": 2, \
                    \"posts_any_tag\": 1, \"posts_any\": 0, \"probes\": 0, \"cancels\": 0, \"posted_high\": 1, \
                    \"unexpected_high\": 2 }";
        assert!(text.contains(line), "{text}");
        let line =
            "\"control\": { \"messages\": 1, \"bytes\": 100, \"unexpected\": 1, \"posts\": 2,";
        assert!(text.contains(line), "{text}");
        assert_eq!(text.matches("\"communicator\":").count(), 2, "{text}");
        assert!(
            text.contains("{ \"communicator\": null, \"kind\": \"control\","),
            "{text}"
        );
    }
}
