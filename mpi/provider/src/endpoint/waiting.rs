//! What waits at an endpoint now, as part of its statistics: receives without a message, messages
//! without a receive, sends that the receiver has not ended, and a probe that found nothing.

use dpamatch_vocabulary::WildcardClass;

use super::library::Library;
use super::usage::{FailedProbe, Usage, members};
use super::{Common, Endpoint, Receive};
use crate::bindings::FI_TAGGED;
use crate::wire::PeerId;

/// Most entries of each kind; the oldest come first.
const MOST: usize = 256;
const TAG_BITS: u64 = 0x7fff_ffff;

/// One entry. Receives and sends by match bits and mask, whatever rule applies.
struct Entry {
    what: &'static str,
    peer: Option<PeerId>,
    bits: u64,
    ignore: u64,
    bytes: usize,
    since_ms: u32,
}

impl Endpoint {
    /// Milliseconds since the endpoint was opened; 0 without statistics.
    pub(super) fn now_ms(&self) -> u32 {
        self.usage.as_ref().map_or(0, |usage| usage.now_ms())
    }

    /// Notes a probe. One that finds nothing is the last one again if nothing came between.
    pub(super) fn note_probe(&mut self, probe: &Receive<'_>, peer: Option<PeerId>, found: bool) {
        let after = self.calls();
        let Some(usage) = &mut self.usage else { return };
        let failed_probe = FailedProbe {
            peer,
            bits: probe.tag,
            ignore: probe.ignore,
            after,
        };
        if found {
            usage.failed_probe = None;
        } else if usage
            .failed_probe
            .is_none_or(|(last, _)| last != failed_probe)
        {
            usage.failed_probe = Some((failed_probe, usage.now_ms()));
        }
    }

    fn calls(&self) -> [u64; 2] {
        [self.posts_ever, self.totals.sent]
    }

    /// Fields of the statistics.
    pub(super) fn waiting(&self, common: &Common, usage: &Usage) -> String {
        let (protocol, _) = self.rule.contexts();
        let (posts, messages) = (self.waiting_posts(), self.waiting_messages());
        let receives = posts.iter().take(MOST).map(|&(_, key)| {
            let post = &self.posts[key];
            let (bits, ignore) = (post.bits, post.ignore);
            let (peer, bytes, since_ms) = (post.source, post.capacity(), post.since_ms);
            Entry {
                what: "receive",
                peer,
                bits,
                ignore,
                bytes,
                since_ms,
            }
        });
        let messages_left = messages.iter().take(MOST).map(|&(_, key)| {
            let message = &self.messages[key];
            let (bits, bytes, since_ms) = (message.header.bits, message.length, message.since_ms);
            let peer = Some(message.peer);
            Entry {
                what: "message",
                peer,
                bits,
                ignore: 0,
                bytes,
                since_ms,
            }
        });
        let tagged = self
            .sendings
            .iter()
            .filter(|(_, sending)| sending.flags & FI_TAGGED != 0);
        let sends = tagged.clone().take(MOST).filter_map(|(_, sending)| {
            let peer = Some(self.connections.get(sending.connection)?.peer);
            let (bits, bytes, since_ms) = (sending.bits, sending.length, sending.since_ms);
            Some(Entry {
                what: "send",
                peer,
                bits,
                ignore: 0,
                bytes,
                since_ms,
            })
        });
        let taken = usage.taken.iter().map(|taken| {
            let (peer, bits, since_ms) = (Some(taken.peer), taken.bits, taken.at_ms);
            let what = match taken.by.class() {
                WildcardClass::AnyTag => "taken with any tag",
                WildcardClass::AnySource => "taken from any source",
                _ => "taken from any source with any tag",
            };
            Entry {
                what,
                peer,
                bits,
                ignore: 0,
                bytes: 0,
                since_ms,
            }
        });
        // A program that continues after a failed probe does not wait for it.
        let failed_probe = usage
            .failed_probe
            .filter(|(failed_probe, _)| failed_probe.after == self.calls());
        let failed_probe = failed_probe.map(
            |(
                FailedProbe {
                    peer, bits, ignore, ..
                },
                since_ms,
            )| Entry {
                what: "probe",
                peer,
                bits,
                ignore,
                bytes: 0,
                since_ms,
            },
        );
        let all = receives
            .chain(messages_left)
            .chain(sends)
            .chain(taken)
            .chain(failed_probe);
        let names: Vec<u128> = common.peers.identities().collect();
        let lines: Vec<_> = all
            .map(|entry| line(entry, protocol, &names, usage.now_ms()))
            .collect();
        let counts = members([
            ("receives", posts.len()),
            ("messages", messages.len()),
            ("sends", tagged.count()),
        ]);
        let (idle_ms, lines) = (usage.idle_ms(), lines.join(","));
        format!(
            ",\n  \"waiting\": {{ {counts}, \"idle_ms\": {idle_ms}, \"entries\": [{lines}\n  ] }}"
        )
    }
}

fn line(entry: Entry, protocol: u64, names: &[u128], now_ms: u32) -> String {
    let Entry {
        what,
        peer,
        bits,
        ignore,
        bytes,
        since_ms,
    } = entry;
    let library = Library::of(protocol);
    let whole = (bits & !protocol) >> 31;
    let context = whole & !library.acknowledges();
    let (communicator, kind) = library.decode(context);
    // A synchronous send waits for the receiver's answer with a receive.
    let is_answer = whole != context && what == "receive";
    let what = if is_answer { "answer" } else { what };
    let name = peer.and_then(|peer| names.get(peer.index()));
    let name = name.map_or("null".to_owned(), |name| {
        format!("\"{:08x}\"", *name as u32)
    });
    let any_tag = ignore & TAG_BITS == TAG_BITS;
    let tag = if any_tag {
        "null".to_owned()
    } else {
        library.tag(bits).to_string()
    };
    let fields = members([
        ("what", format!("\"{what}\"")),
        ("peer", name),
        ("tag", tag),
        ("communicator", communicator.to_string()),
        ("kind", format!("\"{}\"", kind.name())),
        ("bytes", bytes.to_string()),
        ("age_ms", now_ms.saturating_sub(since_ms).to_string()),
    ]);
    format!("\n    {{ {fields} }}")
}
