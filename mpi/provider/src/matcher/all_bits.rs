//! Two lists that compare all 64 bits under any mask, for programs whose masks do not fit the rule.

use std::collections::VecDeque;

use dpamatch::engine::Counter;
use dpamatch_vocabulary::SourceSel;

use super::{Criteria, Matcher, MessageHeader, MsgKey, RecvKey, Verdict};

/// The lists.
#[derive(Debug, Default)]
pub(crate) struct AllBits {
    posted: VecDeque<(RecvKey, Criteria)>,
    unexpected: VecDeque<(MsgKey, MessageHeader)>,
    verdicts: Vec<Verdict>,
    compares: u64,
}

fn fits(criteria: &Criteria, header: &MessageHeader) -> bool {
    let source = match criteria.selector.source {
        SourceSel::Any => true,
        SourceSel::Rank(rank) => rank == header.envelope.source,
    };
    source && (criteria.bits ^ header.bits) & !criteria.ignore == 0
}

impl AllBits {
    fn find(&mut self, criteria: &Criteria) -> Option<usize> {
        let compares = &mut self.compares;
        self.unexpected.iter().position(|(_, header)| {
            *compares += 1;
            fits(criteria, header)
        })
    }
}

impl Matcher for AllBits {
    fn post(&mut self, recv: RecvKey, criteria: &Criteria) {
        let found = self
            .find(criteria)
            .and_then(|at| self.unexpected.remove(at));
        self.verdicts.push(match found {
            Some((msg, _)) => Verdict::Matched {
                recv,
                msg,
                late: true,
            },
            None => {
                self.posted.push_back((recv, *criteria));
                Verdict::Posted(recv)
            }
        });
    }

    fn arrive(&mut self, msg: MsgKey, header: &MessageHeader) {
        let compares = &mut self.compares;
        let found = self.posted.iter().position(|(_, criteria)| {
            *compares += 1;
            fits(criteria, header)
        });
        self.verdicts
            .push(match found.and_then(|at| self.posted.remove(at)) {
                Some((recv, _)) => Verdict::Matched {
                    recv,
                    msg,
                    late: false,
                },
                None => {
                    self.unexpected.push_back((msg, *header));
                    Verdict::Unexpected(msg)
                }
            });
    }

    fn cancel(&mut self, recv: RecvKey, _: &Criteria) {
        self.posted.retain(|&(posted, _)| posted != recv);
        self.verdicts.push(Verdict::Cancelled(recv));
    }

    fn probe(&mut self, criteria: &Criteria, take: bool) {
        let at = self.find(criteria);
        let found = at
            .and_then(|at| self.unexpected.get(at))
            .map(|&(msg, _)| msg);
        if take && let Some(at) = at {
            self.unexpected.remove(at);
        }
        self.verdicts.push(Verdict::Probed { found });
    }

    fn settle(&mut self, sink: &mut Vec<Verdict>) {
        sink.append(&mut self.verdicts);
    }

    fn counters(&self) -> Vec<Counter> {
        vec![Counter::new("generic_compares", self.compares)]
    }
}

#[cfg(test)]
mod tests {
    use dpamatch_vocabulary::{CommId, Envelope, Rank, Selector, Tag, TagSel};

    use super::*;

    #[test]
    fn every_compare_counts() {
        let criteria = |bits| {
            let selector = Selector::new(SourceSel::Any, TagSel::Any);
            Criteria {
                bits,
                ignore: 0xf0,
                comm: CommId(0),
                selector,
            }
        };
        let header = |bits| {
            let (source, tag) = (Rank::default(), Tag::default());
            MessageHeader {
                bits,
                envelope: Envelope {
                    comm: CommId(0),
                    source,
                    tag,
                },
            }
        };
        let mut lists = AllBits::default();
        (1..4).for_each(|at| lists.post(RecvKey(at), &criteria(at.into())));
        // The third of three fits; then none of two, so it waits.
        lists.arrive(MsgKey(1), &header(0x73));
        lists.arrive(MsgKey(2), &header(4));
        assert_eq!(lists.compares, 3 + 2);
        lists.probe(&criteria(5), true);
        lists.post(RecvKey(4), &criteria(4));
        assert_eq!(lists.compares, 5 + 1 + 1);
        let mut verdicts = Vec::new();
        lists.settle(&mut verdicts);
        let expected = [
            Verdict::Matched {
                recv: RecvKey(3),
                msg: MsgKey(1),
                late: false,
            },
            Verdict::Unexpected(MsgKey(2)),
            Verdict::Probed { found: None },
            Verdict::Matched {
                recv: RecvKey(4),
                msg: MsgKey(2),
                late: true,
            },
        ];
        assert_eq!(verdicts[3..], expected, "behind three that were posted");
        assert_eq!(lists.counters(), [Counter::new("generic_compares", 7)]);
    }
}
