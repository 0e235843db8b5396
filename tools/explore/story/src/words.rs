//! Steps in words.

use dpamatch_vocabulary::{Path, step::Step};

use crate::stage::{Stage, Work};
use crate::story::MomentKind;
use crate::{TimedStep, scene};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// A block's or handler's step: kind, handler and words.
    Moment(MomentKind, Option<usize>, String),
    /// A step of the boundary between two blocks.
    Between(Fact),
}

/// A receive's or message's fate between two blocks: noun, name, and the rest of the sentence in
/// singular and plural.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fact {
    noun: &'static str,
    name: u64,
    rest: [&'static str; 2],
}

pub(crate) fn sentence(facts: &[Fact]) -> String {
    let alike = |a: &Fact, b: &Fact| (a.noun, a.rest) == (b.noun, b.rest);
    let clause = |run: &[Fact]| {
        let Fact { noun, name, rest } = run[0];
        let in_a_row = run
            .windows(2)
            .all(|pair| pair[0].name.checked_add(1) == Some(pair[1].name));
        match run {
            [_] => format!("{noun} {name} {}", rest[0]),
            [_, _, .., last] if in_a_row && run.len() > 2 => {
                format!("{noun}s {name} to {} {}", last.name, rest[1])
            }
            [.., last] if run.len() <= 6 => {
                let names: Vec<_> = run[..run.len() - 1]
                    .iter()
                    .map(|fact| fact.name.to_string())
                    .collect();
                format!("{noun}s {} and {} {}", names.join(", "), last.name, rest[1])
            }
            _ => format!("{} {noun}s {}", run.len(), rest[1]),
        }
    };
    facts
        .chunk_by(alike)
        .map(clause)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Describes a step before it is applied; `None` for a step outside the story.
pub(crate) fn words(stage: &Stage<'_>, told: TimedStep) -> Option<Said> {
    let TimedStep { actor, step, .. } = told;
    let receive = |descriptor: u32| match stage.receive(descriptor) {
        Some(place) => format!("receive {}", stage.cast.receives[place].name),
        None => "an unknown receive".to_owned(),
    };
    let message = |place: Option<usize>| match place {
        Some(place) => format!("message {}", stage.cast.messages[place].name),
        None => "an unknown message".to_owned(),
    };
    let of_receive = |place: usize, rest| {
        let name = stage.cast.receives[place].name;
        Some(Said::Between(Fact {
            noun: "receive",
            name,
            rest,
        }))
    };
    let of_message = |noun, place: usize, rest| {
        let name = stage.cast.messages[place].name;
        Some(Said::Between(Fact { noun, name, rest }))
    };
    let did = |kind, handler, text: String| Some(Said::Moment(kind, Some(handler), text));
    match step {
        Step::Posted { request, .. } => of_receive(
            *stage.cast.requests.get(&request)?,
            ["is posted", "are posted"],
        ),
        Step::Stored { .. } => {
            let Work::Handler(handler) = stage.work_of(actor)? else {
                return None;
            };
            let rest = ["is stored as unexpected", "are stored as unexpected"];
            of_message("message", stage.message(handler)?, rest)
        }
        Step::TakenLate { entry } => {
            let rest = ["is taken by a new receive", "are taken by new receives"];
            of_message("unexpected message", stage.stored(entry)?, rest)
        }
        Step::Unlinked { receive: gone } => match stage.work_of(actor) {
            Some(Work::Command) => {
                of_receive(stage.receive(gone)?, ["is cancelled", "are cancelled"])
            }
            Some(Work::Handler(_)) => {
                let rest = ["leaves its chain", "leave their chains"];
                of_receive(stage.receive(gone)?, rest)
            }
            None => {
                let handler = stage.handler_of(actor)?;
                let text = format!("handler {handler} takes {} out of its chain", receive(gone));
                did(MomentKind::Unlink, handler, text)
            }
        },
        Step::BlockCut { first, count } => {
            let name = |at: u64| {
                let place = stage.cast.messages.get(at as usize);
                place.map_or(at, |message| message.name)
            };
            let text = match count {
                1 => format!("block: message {}", name(first)),
                _ => {
                    format!(
                        "block: messages {} to {}",
                        name(first),
                        name(first + count as u64 - 1)
                    )
                }
            };
            Some(Said::Moment(MomentKind::Block, None, text))
        }
        Step::Searched {
            handler,
            found: Some(found),
        } => did(
            MomentKind::Search,
            handler,
            format!("handler {handler} searches and finds {}", receive(found)),
        ),
        Step::Searched {
            handler,
            found: None,
        } => did(
            MomentKind::Search,
            handler,
            format!("handler {handler} searches and finds nothing"),
        ),
        Step::Booked {
            handler,
            receive: booked,
            ..
        } => did(
            MomentKind::Book,
            handler,
            format!("handler {handler} books {}", receive(booked)),
        ),
        Step::SliceBooked => {
            let last = stage.handler_of(actor)?;
            let booked = stage.scene.lanes[..last + 1].iter().rev();
            let count = booked
                .take_while(|lane| lane.phase == scene::Phase::Booked)
                .count();
            let first = (last + 1).saturating_sub(count);
            let text = if first >= last {
                format!("handler {last} is at the barrier")
            } else {
                format!("handlers {first} to {last} are at the barrier")
            };
            did(MomentKind::Arrive, last, text)
        }
        Step::BarrierPassed {
            first,
            end,
            conflict,
        } => {
            let handler = match end - first {
                1 => format!("handler {first} passes"),
                _ => format!("handlers {first} to {} pass", end - 1),
            };
            let text = match conflict {
                None => format!("{handler} the barrier: no conflict up to here"),
                Some(at) if at >= first => format!(
                    "{handler} the barrier: a lower handler booked the same receive as handler {at}"
                ),
                Some(at) => {
                    format!("{handler} the barrier: forced, because handler {at} is in conflict")
                }
            };
            did(MomentKind::Pass, first, text)
        }
        Step::DomainPassed {
            handler,
            is_first,
            conflict,
        } => {
            let of = match is_first {
                true => "is the first of its domain",
                false => "has lower handlers in its domain",
            };
            let what = if conflict { "conflict" } else { "no conflict" };
            did(
                MomentKind::Pass,
                handler,
                format!("handler {handler} {of}: {what} up to here"),
            )
        }
        Step::SlowWaits { handler } => {
            let whom = if stage.in_domains {
                "the lower handlers of its domain"
            } else {
                "all lower handlers"
            };
            let text = format!("handler {handler} takes the slow path and waits for {whom}");
            did(MomentKind::Wait, handler, text)
        }
        Step::SlowFound {
            handler,
            found,
            own,
        } => {
            let text = match found {
                Some(_) if own => format!("handler {handler} finds its own choice still free"),
                Some(found) => format!(
                    "handler {handler} lost its choice, searches again and finds {}",
                    receive(found)
                ),
                None => {
                    format!("handler {handler} lost its choice, searches again and finds nothing")
                }
            };
            did(MomentKind::Search, handler, text)
        }
        Step::Taken {
            handler,
            receive: taken,
            path,
        } => {
            let taken = receive(taken);
            let text = match path {
                Path::Clean => format!("handler {handler} is clean and takes {taken}"),
                Path::Fast => format!("handler {handler} takes {taken} on the fast path"),
                Path::Slow => format!("handler {handler} takes {taken}"),
                Path::Overtaking => format!("handler {handler} takes {taken} at once"),
            };
            did(MomentKind::Take, handler, text)
        }
        Step::Unmatched { handler } => did(
            MomentKind::Take,
            handler,
            format!(
                "handler {handler} has no receive: {} is unexpected",
                message(stage.message(handler))
            ),
        ),
        Step::LockMissed { handler } => did(
            MomentKind::Unlink,
            handler,
            format!(
                "handler {handler} leaves the receive in its chain: another handler holds the bin's lock"
            ),
        ),
        Step::RuleLeftOut => {
            // The boundary's, if the thread works for it or its handler is done.
            let is_open = |handler: &usize| {
                let lane = stage.scene.lanes.get(*handler);
                lane.is_some_and(|lane| lane.phase != scene::Phase::Done)
            };
            let handler = match stage.work_of(actor) {
                Some(_) => None,
                None => stage.handler_of(actor).filter(is_open),
            };
            let whom = handler.map_or(String::new(), |handler| format!("handler {handler}: "));
            let text = format!("{whom}here the rule is left out");
            Some(Said::Moment(MomentKind::LeftOut, handler, text))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_row_are_told_by_their_ends() {
        let facts = |names: &[u64]| -> Vec<Fact> {
            let fact = |&name| Fact {
                noun: "receive",
                name,
                rest: ["waits", "wait"],
            };
            names.iter().map(fact).collect()
        };
        let cases: [(&[u64], &str); 9] = [
            (&[4], "receive 4 waits"),
            (&[4, 5], "receives 4 and 5 wait"),
            (&[4, 5, 6], "receives 4 to 6 wait"),
            (&[4, 5, 7], "receives 4, 5 and 7 wait"),
            (&[6, 5, 4], "receives 6, 5 and 4 wait"),
            (
                &[u64::MAX, 0, 1],
                "receives 18446744073709551615, 0 and 1 wait",
            ),
            (&[9, 2, 3, 4, 5, 6], "receives 9, 2, 3, 4, 5 and 6 wait"),
            (&[9, 2, 3, 4, 5, 6, 7], "7 receives wait"),
            (&[2, 3, 4, 5, 6, 7, 8], "receives 2 to 8 wait"),
        ];
        for (names, expected) in cases {
            assert_eq!(sentence(&facts(names)), expected);
        }
        let mut mixed = facts(&[4, 5]);
        mixed[1].noun = "message";
        assert_eq!(sentence(&mixed), "receive 4 waits; message 5 waits");
    }
}
