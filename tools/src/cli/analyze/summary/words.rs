//! Sentences of the report.

use std::fmt::Write;

use dpamatch_tools::analyze::{Expanded, Report};

pub(super) fn unmatched(report: &Report) -> String {
    if report.unmatched.is_empty() {
        return String::new();
    }
    let mut text = "Unmatched at the end".to_owned();
    for left in &report.unmatched {
        let call = left
            .call
            .map_or(String::new(), |call| format!(" call {call},"));
        let _ = write!(
            text,
            "\n  rank {}, {},{call} {}: {}",
            left.rank, left.what, left.envelope, left.reason
        );
    }
    let traffic = &report.application.traffic;
    let all = traffic.receives_left + traffic.messages_left;
    let more = all.saturating_sub(report.unmatched.len() as u64);
    if more > 0 {
        let _ = write!(text, "\n  and {more} more");
    }
    text
}

pub(super) fn notes(report: &Report) -> String {
    let source = &report.source;
    let mut text = String::new();
    let mut note = |count: u64, what: &str| {
        if count > 0 {
            let _ = writeln!(text, "  {count} {what}");
        }
    };
    let truth = &source.truth;
    note(
        truth.assumed,
        "receives without recorded send: their messages are made up from the statuses",
    );
    note(
        truth.eliminated,
        "receives without status: their messages were found by elimination",
    );
    note(
        truth.without_message,
        "complete receives without status or message: left out",
    );
    note(
        truth.taken_for_null,
        "receives of any source treated as MPI_PROC_NULL: no rank sent to them",
    );
    note(
        truth.bytes_differ,
        "receives whose status has another byte count than the send",
    );
    note(
        truth.not_examined,
        "receives or messages whose pairs were not searched for or not aligned: too many candidates",
    );
    note(
        source.probes_without_message,
        "successful probes whose message is in no trace: left out",
    );
    note(
        source.lost.to_absent_ranks,
        "sends to ranks without a trace",
    );
    note(
        source.lost.to_no_rank,
        "sends to ranks that are not known members of their communicator",
    );
    note(
        source.oddities.unknown_requests,
        "completions of requests that no recorded call made",
    );
    note(
        source.oddities.unknown_starts,
        "starts of persistent requests that no recorded call made",
    );
    note(
        source.oddities.contradictions,
        "statuses that contradict the posted receive",
    );
    note(
        source.oddities.long_receives,
        "receives with room for 2 GiB or more: a status has 32 bits for the length, so the send's \
         length counts",
    );
    if let Some(Expanded { kept, .. }) = source.expanded {
        note(
            kept,
            "calls of collective operations whose messages cannot be known",
        );
    }
    note(
        source.incomplete_creations,
        "communicators whose creation some members did not record",
    );
    if !source.not_read.is_empty() {
        let each: Vec<String> = source
            .not_read
            .iter()
            .map(|(what, times)| format!("{what}: {times}"))
            .collect();
        let _ = writeln!(text, "  not read: {}", each.join(", "));
    }
    for (rank, lost) in &source.salvaged {
        let _ = writeln!(text, "  rank {rank} is truncated: {lost}");
    }
    let more_stalls = report
        .stalls
        .saturating_sub(report.first_stalls.len() as u64);
    for stall in &report.first_stalls {
        let _ = writeln!(
            text,
            "  rank {} was released at its step {}: it waited for {}",
            stall.rank, stall.step, stall.waits_for
        );
    }
    if more_stalls > 0 {
        let _ = writeln!(text, "  {more_stalls} more waits were released");
    }
    if text.is_empty() {
        text
    } else {
        format!("Notes on the trace\n{text}")
    }
}

pub(super) fn advice(report: &Report) -> String {
    let mut text = "Advice".to_owned();
    for advice in &report.advice {
        let _ = write!(
            text,
            "\n  {}: {}\n      {}",
            advice.topic, advice.text, advice.because
        );
    }
    text
}
