//! What an answer assumes, caps, leaves out or does not know: a sentence each.

use std::collections::BTreeMap;

use dpamatch_vocabulary::choices;
use serde::Serialize;

use super::BUILT_IN;
use super::report::{Question, Weighed};
use crate::analyze::order::Network;
use crate::analyze::{Program, Run, Truth};
use crate::counted;
use dpamatch_traces::Class;

choices! {
    /// What kind of uncertainty a remark names.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RemarkKind, by default Assumed {
        /// A choice of the model.
        Assumed = "assumed",
        /// A size that bounds the answer.
        Capped = "capped",
        /// An effect that the model lacks.
        NotModelled = "not modelled",
        /// A part of the program that the trace or the reader lacks.
        NotRead = "not read",
        /// A simulation that was left out.
        NotRun = "not run",
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Remark {
    pub kind: RemarkKind,
    pub text: String,
}

impl Remark {
    pub(super) fn new(kind: RemarkKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, text }
    }
}

/// The remarks on a run, the general ones first.
pub(super) fn find(run: &Run, question: &Question, total: &Weighed, stalls: u64) -> Vec<Remark> {
    let mut all = of_the_model(run, question, total);
    all.extend(of_the_trace(run));
    if stalls > 0 {
        let text = format!(
            "{} of the simulated run that could never end",
            counted(stalls, "wait")
        );
        all.push(Remark::new(RemarkKind::NotModelled, text));
    }
    all
}

fn of_the_model(run: &Run, question: &Question, total: &Weighed) -> Vec<Remark> {
    let (assumed, not_modelled) = (RemarkKind::Assumed, RemarkKind::NotModelled);
    let mut all = Vec::new();
    if run.is_logged() {
        let text = "a rank waits once for all messages that came between two posts";
        all.push(Remark::new(assumed, text));
    } else {
        let Network {
            latency_ns,
            bytes_per_us,
            jitter_ns,
            ..
        } = question.network;
        let text = format!(
            "one wire, with and without a card: {latency_ns} ns, {} GB/s, jitter up to {jitter_ns} \
             ns; messages do not wait for each other",
            bytes_per_us as f64 / 1e3
        );
        all.push(Remark::new(assumed, text));
        let text = "the profile's arrival.bytes_per_ns, host.bytes_per_ns and host.remote_read_ns \
                    are not used: the transfer is in both runs";
        all.push(Remark::new(assumed, text));
    }
    if let Some((name, _)) = BUILT_IN
        .iter()
        .find(|(name, _)| *name == question.host.name)
    {
        let text = format!("prices of the built-in host {name}; --host reads your own");
        all.push(Remark::new(assumed, text));
    }
    all.push(Remark::new(assumed, "each rank has a card for itself"));
    let text = "without a card, each message is matched when it comes, also during computation";
    all.push(Remark::new(assumed, text));
    let text = "each message is delayed by the mean over all messages of the run";
    all.push(Remark::new(assumed, text));
    let text = "a receive whose message is already there does not wait for the card's answer";
    all.push(Remark::new(not_modelled, text));
    let setup = &question.card.setup;
    let text = format!(
        "the card holds {} and {} of a rank; more of them are matched in software",
        counted(setup.receives, "receive"),
        counted(setup.unexpected(), "unexpected message"),
    );
    all.push(Remark::new(RemarkKind::Capped, text));
    if total.demand.probes > 0 {
        let probes = counted(total.demand.probes, "probe");
        let text = format!("the way of {probes} to the card and back");
        all.push(Remark::new(not_modelled, text));
    }
    all
}

fn of_the_trace(run: &Run) -> Vec<Remark> {
    let (not_modelled, not_read) = (RemarkKind::NotModelled, RemarkKind::NotRead);
    let mut all = Vec::new();
    let class = |class: Class| -> u64 {
        run.programs
            .iter()
            .map(|program| program.calls.of_class(class))
            .sum()
    };
    let collectives = class(Class::Collective);
    if collectives > 0 && run.expanded.is_none() {
        let text = format!(
            "messages inside {}; --collectives adds them",
            counted(collectives, "collective call")
        );
        all.push(Remark::new(not_modelled, text));
    }
    if run.expanded.is_some() {
        let text = "messages inside collective calls are those of the chosen library";
        all.push(Remark::new(RemarkKind::Assumed, text));
    }
    let one_sided = class(Class::OneSided);
    if one_sided > 0 {
        let calls = counted(one_sided, "one-sided call");
        all.push(Remark::new(not_modelled, format!("data of {calls}")));
    }
    let ranks = run.programs.len() as u64;
    if ranks < u64::from(run.processes) {
        let text = format!(
            "{} of {} ranks; their messages come when a receive waits for them",
            u64::from(run.processes) - ranks,
            run.processes
        );
        all.push(Remark::new(not_read, text));
    }
    let salvaged = run
        .programs
        .iter()
        .filter(|it| it.salvaged.is_some())
        .count();
    if salvaged > 0 {
        let text = format!(
            "the end of {}, whose files are broken",
            counted(salvaged, "rank")
        );
        all.push(Remark::new(not_read, text));
    }
    let mut unread = BTreeMap::<&str, u64>::new();
    for (what, times) in run.programs.iter().flat_map(|it| &it.not_read) {
        *unread.entry(what).or_default() += times;
    }
    if !unread.is_empty() {
        let each: Vec<String> = unread
            .iter()
            .map(|(what, times)| format!("{what}: {times}"))
            .collect();
        all.push(Remark::new(not_read, each.join(", ")));
    }
    let mut truth = Truth::default();
    run.truth.iter().for_each(|it| truth.add(it));
    if truth.assumed > 0 {
        let text = format!(
            "the sends of {}; each comes when its receive waits for it",
            counted(truth.assumed, "message")
        );
        all.push(Remark::new(not_read, text));
    }
    let unknown: u64 = run
        .programs
        .iter()
        .map(|it| it.oddities.unknown_requests)
        .sum();
    if unknown > 0 {
        let text = format!("the calls behind {}", counted(unknown, "completed request"));
        all.push(Remark::new(not_read, text));
    }
    let timeless = |program: &&Program| {
        program.steps.len() > 1 && program.steps.iter().all(|step| step.gap_ns == 0)
    };
    let timeless = run.programs.iter().filter(timeless).count();
    if timeless > 0 && !run.is_logged() {
        let text = format!(
            "the computation of {}, whose traces have no times; the percentages are too large",
            counted(timeless, "rank")
        );
        all.push(Remark::new(not_read, text));
    }
    all
}
