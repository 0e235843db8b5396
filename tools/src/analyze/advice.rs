//! Advice drawn from a report, in words, with the numbers that support it.

use crate::counted;

use dpa_model::{Footprint, FootprintLine};
use indicatif::HumanBytes;

use super::engines::EngineReport;
use super::late::Late;
use super::report::Report;
use super::stats::{Hint, Needs, Plan};

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Advice {
    pub topic: &'static str,
    pub text: String,
    pub because: String,
}

/// Mean steps per search at the worst rank below which a queue counts as short.
const SHORT: f64 = 1.5;
/// Smallest share of the steps that a larger table must save to be worth it.
const WORTH: f64 = 0.05;

pub(super) fn advise(report: &Report, plan: &Plan) -> Vec<Advice> {
    let mut all = Vec::new();
    let traffic = &report.application.traffic;
    if traffic.all_receives() == 0 {
        return vec![Advice {
            topic: "room",
            text: without_receives(report),
            because: calls(report).unwrap_or_else(|| "order logs hold no calls".to_owned()),
        }];
    }
    all.extend(room(report, plan));
    let range = report.unexpected_by_order.words();
    all.extend(super::sites::advice(&report.sites, &report.sharing, range));
    all.extend(bins(report));
    all.extend(engines(report));
    all.extend(chains(report));
    all.push(table(report, plan));
    all.extend(handlers(report));
    if !report.is_of_logs() {
        all.extend(hints(report));
    }
    all
}

/// The verdict on a program whose trace has no receive.
fn without_receives(report: &Report) -> String {
    let sends = report.application.traffic.sends;
    if report.source.calls == 0 && !report.is_of_logs() {
        "No verdict: the trace holds no MPI call.".to_owned()
    } else if sends > 0 {
        let sends = counted(sends, "send");
        format!("No verdict: the trace holds {sends} and no receive, so receives may be missing.")
    } else if report.application.shares.collective > 0 {
        "No verdict: the program posts no receives. --collectives adds the messages inside its \
         collective calls."
            .to_owned()
    } else {
        "Offloading has no benefit: the program posts no receives.".to_owned()
    }
}

/// Nothing for order logs, which hold no calls.
fn calls(report: &Report) -> Option<String> {
    let [p2p, collective, one_sided] = report.application.shares.percent();
    (!report.is_of_logs()).then(|| format!(
        "calls: {p2p:.1} % point-to-point, {collective:.1} % collective, {one_sided:.1} % one-sided"
    ))
}

/// Whether all queues fit on the NIC, and where matching would fall back to software.
fn room(report: &Report, plan: &Plan) -> Option<Advice> {
    let Needs {
        fallback,
        unexpected,
        descriptors,
        unexpected_bytes,
        ..
    } = report.application.needs;
    let traffic = &report.application.traffic;
    let messages = traffic.messages();
    let unexpected_share = traffic.unexpected as f64 * 100.0 / messages.max(1) as f64;
    let text = match fallback {
        Some(fallback) => {
            let (option, what) = fallback.shortage.option();
            let call = match (fallback.call, fallback.sender) {
                (Some(call), None) => format!(" in call {call}"),
                (Some(call), Some(sender)) => {
                    format!(" on the message that rank {sender} sent in call {call}")
                }
                (None, _) => String::new(),
            };
            format!(
                "The NIC is too small: rank {} falls back to software first{call}, with too few {what} ({option}).",
                fallback.rank
            )
        }
        None if unexpected_share > 50.0 => {
            let (when, what_to_do) = (in_which_orders(report), about_late(report));
            format!(
                "Everything fits, but {when}most messages come before their receive and are \
                 stored on the NIC first. {what_to_do}"
            )
        }
        None => {
            "Everything fits on the NIC. dpamatch offload shows whether offloading pays.".to_owned()
        }
    };
    let calls = calls(report).map_or_else(String::new, |calls| calls + "; ");
    let range = report.unexpected_by_order.words();
    let range = range.map_or(String::new(), |range| format!(" ({range})"));
    let known = report.sharing.words().filter(|_| unexpected_share > 50.0);
    let known = known.map_or(String::new(), |known| format!("; {known}"));
    let share = match messages {
        0 => "no message arrives".to_owned(),
        _ => format!(
            "{unexpected_share:.1} % of {} unexpected{range}{known}",
            counted(messages, "message")
        ),
    };
    let because = format!(
        "{calls}{share}; peak use {descriptors} of {}, {unexpected} of {} with {}",
        counted(plan.nic.receives, "descriptor"),
        counted(plan.nic.unexpected, "unexpected message"),
        HumanBytes(unexpected_bytes)
    );
    Some(Advice {
        topic: "room",
        text,
        because,
    })
}

/// Whether most messages are unexpected in all orders that were counted, or only in this one.
fn in_which_orders(report: &Report) -> &'static str {
    match report.unexpected_by_order.range() {
        _ if report.unexpected_by_order.orders.len() < 2 => "",
        Some([low, _]) if low > 50.0 => "in each of the counted orders ",
        _ => "in this order ",
    }
}

/// What the program can do about receives that come after their messages.
fn about_late(report: &Report) -> String {
    let Late {
        probed,
        posted_first,
        could_be_earlier,
        left,
    } = report.late;
    let receives = probed + posted_first + could_be_earlier;
    if could_be_earlier * 2 <= receives {
        format!(
            "Of their {}, {probed} follow a probe and {posted_first} are posted before the sends \
             of their phase: the program could post {could_be_earlier} earlier.",
            counted(receives, "receive")
        )
    } else if left > receives {
        "No receive ever gets most of them.".to_owned()
    } else if report.sharing.is_shared() {
        "Ranks shared processors, so senders may have been ahead of receivers.".to_owned()
    } else {
        "Post receives earlier.".to_owned()
    }
}

fn steps_with(report: &Report, place: usize) -> f64 {
    let bins = &report.application.bins[place];
    let searches = (bins.prq.count + bins.umq.count).max(1);
    (bins.prq.steps + bins.umq.steps) as f64 / searches as f64
}

/// Index of the smallest number of bins that comes close to the best.
fn enough_bins(report: &Report) -> Option<usize> {
    let places = 0..report.application.bins.len();
    let best = places
        .clone()
        .map(|at| steps_with(report, at))
        .fold(f64::INFINITY, f64::min);
    places
        .into_iter()
        .find(|&at| steps_with(report, at) <= best * (1.0 + WORTH) + f64::EPSILON)
}

fn bins(report: &Report) -> Option<Advice> {
    let steps = |place: usize| steps_with(report, place);
    let places: Vec<usize> = (0..report.application.bins.len()).collect();
    let &first = places.first()?;
    let enough = enough_bins(report)?;
    let bins = report.application.bins[enough].bins;
    let fewest = report.application.bins[first].bins;
    let worst = &report.application.bins[first];
    let worst = worst.prq.mean_max.max(worst.umq.mean_max);
    let text = if worst <= SHORT {
        format!(
            "Any engine will do: with {} a mean search takes {:.2} steps, {worst:.2} at the worst rank.",
            counted(fewest, "bin"),
            steps(first)
        )
    } else if places.len() == 1 {
        "Compare several numbers of bins (--bins 1,32,128) to see whether more bins save steps."
            .to_owned()
    } else if enough == first {
        format!(
            "More than {} save no steps: long chains share one key or have wildcards.",
            counted(fewest, "bin")
        )
    } else {
        format!(
            "Use {} per table: more bins save less than {:.0} % of the steps.",
            counted(bins, "hash bin"),
            WORTH * 100.0
        )
    };
    let numbers: Vec<_> = places
        .iter()
        .map(|&place| {
            let bins = counted(report.application.bins[place].bins, "bin");
            format!("{bins} {:.2}", steps(place))
        })
        .collect();
    Some(Advice {
        topic: "bins",
        text,
        because: format!("mean steps per search: {}", numbers.join(", ")),
    })
}

fn engines(report: &Report) -> Option<Advice> {
    let traffic = &report.application.traffic;
    let searches = (traffic.all_receives() + traffic.messages()).max(1) as f64;
    let steps = |engine: &EngineReport| {
        Some((engine.posted_steps()? + engine.unexpected_steps()?) as f64 / searches)
    };
    let mut ranked: Vec<_> = report
        .engines
        .iter()
        .filter_map(|engine| Some((steps(engine)?, engine)))
        .collect();
    // A stable sort: among equals the engine named first wins.
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [(fewest, best), .., (most, last)] = ranked[..] else {
        return None;
    };
    let memory = |engine: &EngineReport| {
        let bytes = engine.counter("memory_bytes_max");
        bytes.map_or(String::new(), |bytes| {
            format!(", {} at most", HumanBytes(bytes))
        })
    };
    let text = if most <= fewest * (1.0 + WORTH) + f64::EPSILON {
        "All engines take the same number of steps: choose the one with the least memory."
            .to_owned()
    } else {
        let whose = match report.engines.len() - ranked.len() {
            0 => "compared",
            _ => "that count steps in both queues",
        };
        format!(
            "Of the engines {whose}, {} takes the fewest steps and {} the most.",
            best.name, last.name
        )
    };
    let because = format!(
        "steps per search, including inner nodes: {} {fewest:.2}{}; {} {most:.2}{}",
        best.name,
        memory(best),
        last.name,
        memory(last)
    );
    Some(Advice {
        topic: "engine",
        text,
        because,
    })
}

/// Few distinct keys alone promise nothing (O37).
fn chains(report: &Report) -> Option<Advice> {
    let keys = &report.application.receive_keys;
    if keys.chain_max < 4 {
        return None;
    }
    Some(Advice {
        topic: "chains",
        text: format!(
            "Up to {} receives of one source and tag wait at once and share a chain whatever the number of bins. The first of \
             the chain fits, so arrivals do not walk it, but blocks of such messages conflict: keep the fast path on.",
            keys.chain_max
        ),
        because: format!(
            "{} distinct (source, tag) in {} ({:.2} %); mean chain per key {:.2}",
            keys.unique,
            counted(keys.uses, "receive"),
            keys.unique_share() * 100.0,
            keys.chain_mean()
        ),
    })
}

fn table(report: &Report, plan: &Plan) -> Advice {
    let needs = &report.application.needs;
    let size = |most: u64| most.max(1).next_power_of_two();
    let receives = size(needs.descriptors);
    let unexpected = size(needs.unexpected);
    let buffers = size(needs.unexpected_buffers).min(unexpected);
    let bins = enough_bins(report).map_or(plan.nic.bins as u64, |at| {
        u64::from(report.application.bins[at].bins)
    });
    let config = dpa_model::NicConfig {
        receives: receives as usize,
        unexpected: unexpected as usize,
        unexpected_buffers: buffers as usize,
        bins: bins as usize,
        communicators: needs.communicators.max(1) as usize,
        // A sender without a buffer waits: two blocks, one to work on and one to come.
        bounce_buffers: (2 * plan.nic.handlers)
            .next_power_of_two()
            .min(plan.nic.bounce_buffers),
        ..plan.nic
    };
    let footprint = Footprint::new(&config);
    let bounce_buffers = config.bounce_buffers;
    let bounce = footprint
        .lines()
        .iter()
        .find(|line| line.what == "bounce buffers");
    Advice {
        topic: "tables",
        text: format!(
            "--receives {receives} --unexpected {unexpected} --unexpected-buffers {buffers} \
             --bounce-buffers {bounce_buffers} --communicators {} suffice: {} of NIC memory with {}, {} of it for bounce \
             buffers; {} by the paper's formula for one communicator.",
            needs.communicators.max(1),
            HumanBytes(footprint.nic_bytes()),
            counted(bins, "bin"),
            HumanBytes(bounce.map_or(0, FootprintLine::bytes)),
            HumanBytes(dpa_model::paper_bytes(bins, receives))
        ),
        because: format!(
            "at most {} posted, {} ({} with a buffer), {} used",
            counted(needs.descriptors, "receive"),
            counted(needs.unexpected, "unexpected message"),
            needs.unexpected_buffers,
            counted(needs.communicators, "communicator")
        ),
    }
}

fn handlers(report: &Report) -> Option<Advice> {
    let blocks = &report.application.blocks;
    let last = blocks.last()?;
    let filled = |at: usize| blocks[at].messages as f64 / blocks[at].blocks.max(1) as f64;
    let most = filled(blocks.len() - 1);
    // The smallest number of handlers that fills its blocks nearly as well as the largest.
    let enough = (0..blocks.len()).find(|&at| filled(at) >= most * 0.95)?;
    let matched = (last.clean + last.fast + last.slow).max(1) as f64;
    let text = if most < 1.5 {
        "Messages come one by one, so one handler at a time has work: the order of posts and \
         arrivals allows no matching in parallel."
            .to_owned()
    } else if most >= 0.95 * f64::from(last.handlers) {
        format!(
            "Blocks of {} are full: more handlers may find work (--sweep).",
            counted(last.handlers, "handler")
        )
    } else {
        format!(
            "Enough per block: {}; larger blocks are rarely full.",
            counted(blocks[enough].handlers, "handler")
        )
    };
    Some(Advice {
        topic: "handlers",
        text,
        because: format!(
            "with {} a block has {most:.2} messages; by the paper's rules {:.1} % clean, {:.1} % fast path, {:.1} % slow path ({} forced)",
            counted(last.handlers, "handler"),
            last.clean as f64 * 100.0 / matched,
            last.fast as f64 * 100.0 / matched,
            last.slow as f64 * 100.0 / matched,
            last.forced
        ),
    })
}

fn hints(report: &Report) -> Vec<Advice> {
    type Of = fn(&super::stats::Hints) -> &Hint;
    let all: [(&'static str, Of); 4] = [
        ("mpi_assert_no_any_source", |hints| &hints.no_any_source),
        ("mpi_assert_no_any_tag", |hints| &hints.no_any_tag),
        ("mpi_assert_exact_length", |hints| &hints.exact_length),
        ("mpi_assert_allow_overtaking", |hints| {
            &hints.allow_overtaking
        }),
    ];
    // A hint on a communicator does not apply to the library's own messages.
    let used = || {
        let comms = report.communicators.iter().filter(|comm| !comm.collectives);
        comms.filter(|comm| comm.stats.traffic.all_receives() > 0)
    };
    let mut advice = Vec::new();
    for (name, of) in all {
        let (kept, unsafe_): (Vec<_>, Vec<_>) =
            used().partition(|comm| of(&comm.stats.hints).count == 0);
        let (safe, unsure): (Vec<_>, Vec<_>) = kept
            .into_iter()
            .partition(|comm| of(&comm.stats.hints).unknown == 0);
        let proven = name != "mpi_assert_allow_overtaking";
        let names = |comms: &[&super::report::CommReport]| {
            let first: Vec<_> = comms
                .iter()
                .take(4)
                .map(|comm| format!("{} ({})", comm.number, comm.name))
                .collect();
            let more = comms.len().saturating_sub(4);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let noun = if comms.len() == 1 {
                "communicator"
            } else {
                "communicators"
            };
            format!("{noun} {}{more}", first.join(", "))
        };
        if !safe.is_empty() {
            let receives: u64 = safe
                .iter()
                .map(|comm| comm.stats.traffic.all_receives())
                .sum();
            let text = if proven {
                format!(
                    "Set {name} on {}: this run never violates it.",
                    names(&safe)
                )
            } else {
                format!(
                    "Try {name} on {}: in this order no receive and no message had a choice. Another order may \
                     give one, so this is no proof.",
                    names(&safe)
                )
            };
            advice.push(Advice {
                topic: "hints",
                text,
                because: format!("0 violations in {}", counted(receives, "receive")),
            });
        }
        if !unsure.is_empty() {
            let unknown: u64 = unsure
                .iter()
                .map(|comm| of(&comm.stats.hints).unknown)
                .sum();
            advice.push(Advice {
                topic: "hints",
                text: format!(
                    "The trace does not show whether {name} is safe on {}.",
                    names(&unsure)
                ),
                because: format!(
                    "without a known length of message or buffer: {}",
                    counted(unknown, "receive")
                ),
            });
        }
        if let Some(first) = unsafe_
            .iter()
            .filter_map(|comm| of(&comm.stats.hints).first)
            .min_by_key(|at| (at.rank, at.call))
        {
            let count: u64 = unsafe_.iter().map(|comm| of(&comm.stats.hints).count).sum();
            advice.push(Advice {
                topic: "hints",
                text: format!("Do not set {name} on {}.", names(&unsafe_)),
                because: format!(
                    "{}, the first at rank {}, call {}, {}",
                    counted(count, "violation"),
                    first.rank,
                    first.call,
                    first.function
                ),
            });
        }
    }
    advice
}

#[cfg(test)]
mod tests;
