//! The receives and messages of a story, by the caller's names.

use std::collections::BTreeMap;
use std::ops::Range;

use dpamatch_vocabulary::{CommId, Envelope, Operation, Selector, SourceSel, TagSel};
use serde::Serialize;

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Receive {
    /// The caller's name.
    pub name: u64,
    pub accepts: String,
    pub index: &'static str,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Message {
    /// The caller's name.
    pub name: u64,
    pub carries: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cast {
    pub receives: Vec<Receive>,
    pub messages: Vec<Message>,
    /// The index in `receives` of each request.
    pub requests: BTreeMap<u64, usize>,
    /// What each receive accepts, and what each message carries.
    selectors: Vec<(CommId, Selector)>,
    envelopes: Vec<Envelope>,
}

impl Cast {
    /// The receives and messages of a stream. `request` gives the card's number of a receive's
    /// request, by the receive's name; the story leaves out receives without one.
    pub fn new(operations: &[Operation], request: impl Fn(u64) -> Option<u64>) -> Self {
        let comms = operations
            .iter()
            .filter_map(Operation::comm)
            .collect::<Vec<_>>();
        let several = comms.windows(2).any(|pair| pair[0] != pair[1]);
        let mut cast = Self::default();
        for operation in operations {
            match *operation {
                Operation::Post {
                    recv,
                    comm,
                    selector,
                    ..
                } => {
                    if let Some(request) = request(recv.0) {
                        cast.requests.insert(request, cast.receives.len());
                    }
                    cast.selectors.push((comm, selector));
                    let accepts = format!("{}{}", within(comm, several), accepts(selector));
                    let index = index(selector);
                    cast.receives.push(Receive {
                        name: recv.0,
                        accepts,
                        index,
                    });
                }
                Operation::Arrive { msg, envelope, .. } => {
                    cast.envelopes.push(envelope);
                    let Envelope { comm, source, tag } = envelope;
                    let comm = within(comm, several);
                    let carries = format!("{comm}source {}, tag {}", source.get(), tag.get());
                    cast.messages.push(Message {
                        name: msg.0,
                        carries,
                    });
                }
                _ => {}
            }
        }
        cast
    }
}

impl Cast {
    /// The conflict domain of each of these messages while these receives are posted, numbered as
    /// they come: messages of different domains never meet at a receive (`docs/domains.md`).
    pub(crate) fn domains(&self, messages: Range<usize>, posted: &[usize]) -> Vec<usize> {
        let mut keys = Vec::new();
        let mut domains = Vec::new();
        for &Envelope { comm, source, tag } in &self.envelopes[messages] {
            let here = posted.iter().map(|&place| self.selectors[place]);
            let here: Vec<Selector> = here
                .filter(|(of, _)| *of == comm)
                .map(|(_, selector)| selector)
                .collect();
            let any_source = here
                .iter()
                .any(|selector| selector.source == SourceSel::Any);
            let any_tag = here.iter().any(|selector| selector.tag == TagSel::Any);
            let key = (
                comm,
                (!any_source).then_some(source),
                (!any_tag).then_some(tag),
            );
            let known = keys.iter().position(|&known| known == key);
            domains.push(known.unwrap_or(keys.len()));
            if known.is_none() {
                keys.push(key);
            }
        }
        domains
    }
}

fn within(comm: CommId, several: bool) -> String {
    if several {
        format!("communicator {}, ", comm.0)
    } else {
        String::new()
    }
}

fn accepts(Selector { source, tag }: Selector) -> String {
    let source = match source {
        SourceSel::Any => "any source".to_owned(),
        SourceSel::Rank(rank) => format!("source {}", rank.get()),
    };
    match tag {
        TagSel::Any => format!("{source}, any tag"),
        TagSel::Tag(tag) => format!("{source}, tag {}", tag.get()),
    }
}

fn index(Selector { source, tag }: Selector) -> &'static str {
    match (source, tag) {
        (SourceSel::Rank(_), TagSel::Tag(_)) => "exact",
        (SourceSel::Any, TagSel::Tag(_)) => "any source",
        (SourceSel::Rank(_), TagSel::Any) => "any tag",
        (SourceSel::Any, TagSel::Any) => "any source and tag",
    }
}
