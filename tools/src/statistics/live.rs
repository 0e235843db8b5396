//! What the processes of a running program do now, with rates since the last look.

use std::collections::HashMap;

use super::{Endpoint, State, Use};
use crate::table::{Cell, Table};

/// Messages and bytes of each endpoint at the last look.
#[derive(Debug, Default)]
pub struct Live {
    before: HashMap<String, (u64, u64)>,
}

impl Live {
    /// One row per endpoint, `seconds` after the last look. Only an answer has rates and queues.
    pub fn table(&mut self, endpoints: &[(Endpoint, State)], seconds: f64) -> Table {
        let rows: Vec<_> = endpoints
            .iter()
            .map(|(endpoint, state)| {
                let sum = Use::sum(endpoint.kinds.values().copied());
                let before = self
                    .before
                    .insert(endpoint.name.clone(), (sum.messages, sum.bytes));
                let rates = before.filter(|_| *state == State::Answered).map(|before| {
                    let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
                    (rate(sum.messages, before.0), rate(sum.bytes, before.1))
                });
                (endpoint, state, sum, rates)
            })
            .collect();
        Table::with_rows("live", "", rows)
            .columns(&[
                ("rank", |(it, ..)| it.place_cell()),
                ("state", |(_, state, ..)| state.words().into()),
                ("messages", |(.., sum, _)| sum.messages.into()),
                ("messages/s", |(.., rates)| {
                    rates.map(|(messages, _)| messages.round()).into()
                }),
                ("MB/s", |(.., rates)| {
                    rates.map(|(_, bytes)| bytes / 1e6).into()
                }),
                ("posted", |(it, state, ..)| state.now(it.waiting.receives)),
                ("unexpected", |(it, state, ..)| {
                    state.now(it.waiting.messages)
                }),
                ("sends", |(it, state, ..)| state.now(it.waiting.sends)),
            ])
            .keyed(1)
    }
}

impl State {
    fn words(self) -> &'static str {
        match self {
            Self::Answered => "runs",
            Self::Silent => "no progress",
            Self::Closed => "finished",
            Self::Gone => "gone",
        }
    }

    fn now(self, value: u64) -> Cell {
        if self == Self::Answered {
            value.into()
        } else {
            Cell::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Waiting;
    use super::*;

    #[test]
    fn rates_are_those_since_the_last_look() {
        let (mut live, mut told) = (Live::default(), String::new());
        for (states, messages) in [
            ([State::Answered, State::Gone], 100),
            ([State::Answered, State::Silent], 1100),
            ([State::Closed, State::Answered], 1100),
        ] {
            let all = [(2, messages), (4, 2 * messages)].map(|(rank, messages)| {
                let used = Use {
                    messages,
                    bytes: messages * 3000,
                    ..Use::default()
                };
                let waiting = Waiting {
                    receives: 3,
                    messages: 5,
                    sends: 7,
                    ..Waiting::default()
                };
                let (name, kinds) = (format!("rank-{rank}-0"), [("user".to_owned(), used)].into());
                Endpoint {
                    name,
                    kinds,
                    waiting,
                    ..Endpoint::default()
                }
            });
            let all: Vec<_> = all.into_iter().zip(states).collect();
            told.extend(
                live.table(&all, 4.0)
                    .csv()
                    .lines()
                    .skip(1)
                    .map(|row| format!("{row};")),
            );
        }
        let first = "2,runs,100,,,3,5,7;4,gone,200,,,,,;2,runs,1100,250,0.75,3,5,7;";
        let later = "4,no progress,2200,,,,,;2,finished,1100,,,,,;4,runs,2200,0,0,3,5,7;";
        assert_eq!(told, [first, later].concat());
    }
}
