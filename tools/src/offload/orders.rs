//! The application in further legal orders of posts and arrivals.

use rayon::prelude::*;
use serde::Serialize;

use super::demand::Part;
use super::ends::Ends;
use super::remarks::{Remark, RemarkKind};
use super::report::{Advised, OffloadError, Question, Weighed};
use super::verdict::{Gain, Verdict};
use super::{Answer, Range};
use crate::analyze::order::Order;
use crate::analyze::{OrderChoice, Run};

/// Posts and messages up to which further orders are run. They double the time of an answer.
const EVENTS_MAX: u64 = 2_000_000;

/// The application in one order.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct InOrder {
    pub order: &'static str,
    pub steps_per_message: f64,
    /// How much earlier the run ends with a card, as a part of the run without one.
    pub gain: Range,
    pub answer: Answer,
}

impl InOrder {
    /// The order that decides: the real one of order logs, or the causal one.
    pub(super) fn first(run: &Run, application: &Advised, gain: Gain) -> Self {
        Self {
            order: if run.is_logged() {
                "recorded"
            } else {
                "causal"
            },
            steps_per_message: application.demand.steps_per_message(),
            gain: gain.share,
            answer: application.verdict.answer,
        }
    }
}

/// Searches in the order of the recorded times and in that with all receives first, and runs the
/// ranks with each. Adds a remark for each order that is not run.
pub(super) fn others(
    run: &Run,
    question: &Question,
    causal: &[Weighed],
    remarks: &mut Vec<Remark>,
) -> Result<Vec<InOrder>, OffloadError> {
    if run.is_logged() {
        return Ok(Vec::new());
    }
    let events: u64 = causal
        .iter()
        .map(|rank| rank.demand.posts + rank.demand.messages)
        .sum();
    if events > EVENTS_MAX {
        let text = format!(
            "the orders time and posts-first: {events} posts and messages are more than \
             {EVENTS_MAX}"
        );
        remarks.push(Remark::new(RemarkKind::NotRun, text));
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for (choice, order) in [
        (OrderChoice::Time, "time"),
        (OrderChoice::PostsFirst, "posts-first"),
    ] {
        let Some((orders, ..)) = run.orders(choice, question.network) else {
            let text = "the order of the recorded times: a rank has no wall times".to_owned();
            remarks.push(Remark::new(RemarkKind::NotRun, text));
            continue;
        };
        all.push(in_order(run, question, causal, order, &orders)?);
    }
    let text = "the card, ranks, communicators and hardware in further orders; the card's latency \
                there is that of the causal order";
    remarks.push(Remark::new(RemarkKind::NotRun, text));
    Ok(all)
}

fn in_order(
    run: &Run,
    question: &Question,
    causal: &[Weighed],
    order: &'static str,
    orders: &[Order],
) -> Result<InOrder, OffloadError> {
    let weigh = |at: usize| {
        let part = Part {
            view: run.view(at),
            order: &orders[at],
            comm: None,
        };
        let demand = question.demand(part)?;
        // Guided orders have no times, so the card is not run again.
        Ok(question.weighed(demand, causal[at].service))
    };
    let ranks: Result<Vec<Weighed>, OffloadError> =
        (0..orders.len()).into_par_iter().map(weigh).collect();
    let ranks = ranks?;
    let mut total = Weighed::default();
    ranks.iter().for_each(|rank| total.add(rank));
    let gain = Ends::new(run, question.network, &ranks, None).gain(None);
    let (demand, costs) = (&total.demand, &total.costs);
    let verdict = Verdict::judge(demand, &question.host, costs, &gain, question.worth);
    Ok(InOrder {
        order,
        steps_per_message: demand.steps_per_message(),
        gain: gain.share,
        answer: verdict.answer,
    })
}
