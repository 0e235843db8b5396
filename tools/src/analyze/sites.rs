//! Attributes unexpected messages to the call sites of receives and sends.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use addr2line::Loader;

use super::advice::Advice;
use super::late::{Earliest, Sharing, earliest};
use super::order::{Happening, Order};
use super::program::UNKNOWN;
use super::replay::RankView;
use super::run::Run;
use crate::counted;
use dpamatch_traces::{Function, Site};

/// A call site of receives or sends, over all ranks.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SiteReport {
    /// File and line, or program and address if unknown.
    pub place: String,
    /// The enclosing function of the program, if known.
    pub within: Option<String>,
    pub function: &'static str,
    /// Receives posted, or messages sent.
    pub count: u64,
    /// Those whose message arrived before its receive.
    pub unexpected: u64,
    /// Those whose receive the program could post earlier.
    pub could_be_earlier: u64,
    /// Those that a probe found first.
    pub probed: u64,
    /// Maximum of these messages waiting at one rank at a time.
    pub waiting_max: u64,
    /// Their total waiting time; `None` if the order has no times.
    pub waited_ns: Option<u64>,
}

/// A site, and the number of the MPI function called there.
type Key = (Site, u16);

#[derive(Clone, Copy, Default, Debug)]
struct Count {
    count: u64,
    unexpected: u64,
    could_be_earlier: u64,
    probed: u64,
    waiting: u64,
    waiting_max: u64,
    waited_ns: Option<u64>,
}

impl Count {
    fn wait(&mut self, earliest: Option<Earliest>) {
        self.unexpected += 1;
        self.could_be_earlier += u64::from(earliest == Some(Earliest::No));
        self.probed += u64::from(earliest == Some(Earliest::Probed));
        self.waiting += 1;
        self.waiting_max = self.waiting_max.max(self.waiting);
    }

    fn end(&mut self, waited_ns: Option<u64>) {
        self.waiting -= 1;
        self.waited_ns = waited_ns
            .map(|ns| self.waited_ns.unwrap_or(0) + ns)
            .or(self.waited_ns);
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.unexpected += other.unexpected;
        self.could_be_earlier += other.could_be_earlier;
        self.probed += other.probed;
        self.waiting_max = self.waiting_max.max(other.waiting_max);
        self.waited_ns = other
            .waited_ns
            .map(|ns| ns + self.waited_ns.unwrap_or(0))
            .or(self.waited_ns);
    }
}

/// All sites of a run, by unexpected messages in falling order; empty if no rank recorded any.
/// `pairs` holds the receives of each rank's messages.
pub(super) fn sites(run: &Run, orders: &[Order], pairs: &[Vec<u32>]) -> Vec<SiteReport> {
    let mut all: BTreeMap<Key, Count> = BTreeMap::new();
    if run.programs.iter().all(|program| program.sites.is_none()) {
        return Vec::new();
    }
    for ((view, order), receives) in run.views().zip(orders).zip(pairs) {
        for (key, count) in of_rank(run, view, order, receives) {
            all.entry(key).or_default().add(&count);
        }
    }
    let mut places = Places::default();
    let mut reports: Vec<_> = all
        .into_iter()
        .map(|((site, function), count)| {
            let (place, within) = places.of(&site);
            SiteReport {
                place,
                within,
                function: Function::from_number(function).map_or("?", Function::name),
                count: count.count,
                unexpected: count.unexpected,
                could_be_earlier: count.could_be_earlier,
                probed: count.probed,
                waiting_max: count.waiting_max,
                waited_ns: count.waited_ns,
            }
        })
        .collect();
    reports.sort_by(|a, b| {
        let key = |site: &SiteReport| (site.unexpected, site.waiting_max, site.count);
        key(b)
            .cmp(&key(a))
            .then_with(|| (&a.place, a.function).cmp(&(&b.place, b.function)))
    });
    reports
}

fn of_rank(run: &Run, view: RankView<'_>, order: &Order, receives: &[u32]) -> HashMap<Key, Count> {
    let mut counts: HashMap<Key, Count> = HashMap::new();
    let earliest = earliest(view);
    let receiving = |receive: u32| key(run, view.at, receive);
    let sending = |message: u32| {
        let message = view.inbound.at(message);
        let sender = run
            .programs
            .binary_search_by_key(&message.sender, |program| program.rank);
        (message.op != UNKNOWN)
            .then_some(())
            .and_then(|()| key(run, sender.ok()?, message.op))
    };
    let mut messages: HashMap<u32, u32> = HashMap::new();
    let matched = receives
        .iter()
        .enumerate()
        .filter(|(_, receive)| **receive != UNKNOWN);
    messages.extend(matched.map(|(message, &receive)| (receive, message as u32)));
    let mut came: HashMap<u32, Option<u64>> = HashMap::new();
    let mut posted = vec![false; view.program.transfers.len()];
    for (place, happening) in order.iter().enumerate() {
        match happening {
            Happening::Post(receive) => {
                posted[receive as usize] = true;
                let keys = [
                    receiving(receive),
                    messages.get(&receive).and_then(|m| sending(*m)),
                ];
                if let Some(key) = &keys[0] {
                    counts.entry(key.clone()).or_default().count += 1;
                }
                let Some(came) = messages
                    .get(&receive)
                    .and_then(|message| came.remove(message))
                else {
                    continue;
                };
                let waited = order.time_ns(place).zip(came).map(|(now, came)| now - came);
                for key in keys.into_iter().flatten() {
                    counts.entry(key).or_default().end(waited);
                }
            }
            Happening::Arrive(message) => {
                let receive = receives[message as usize];
                let sent = sending(message);
                if let Some(key) = &sent {
                    counts.entry(key.clone()).or_default().count += 1;
                }
                if posted.get(receive as usize).copied().unwrap_or(false) {
                    continue;
                }
                came.insert(message, order.time_ns(place));
                let waits_for = (receive != UNKNOWN).then(|| receiving(receive)).flatten();
                for key in [waits_for, sent].into_iter().flatten() {
                    let earliest = earliest.get(receive as usize).copied();
                    counts.entry(key).or_default().wait(earliest);
                }
            }
            Happening::Cancel(_) | Happening::Probe(_) => {}
        }
    }
    counts
}

fn key(run: &Run, at: usize, transfer: u32) -> Option<Key> {
    let program = &run.programs[at];
    let transfer = program.transfers.get(transfer)?;
    let site = program.sites.as_ref()?.of(u64::from(transfer.call))?;
    Some((site.clone(), transfer.function))
}

/// Debug information of objects, loaded once.
#[derive(Default)]
pub(super) struct Places(HashMap<PathBuf, Option<Loader>>);

impl Places {
    pub(super) fn of(&mut self, site: &Site) -> (String, Option<String>) {
        let Site { object, address } = site;
        let loader = self
            .0
            .entry(object.clone())
            .or_insert_with(|| Loader::new(object).ok());
        let name = |path: &Path| {
            path.file_name()
                .unwrap_or(path.as_os_str())
                .display()
                .to_string()
        };
        // The innermost function, even if it is inlined.
        let frames = loader
            .as_ref()
            .and_then(|loader| loader.find_frames(*address).ok());
        let frame = frames.and_then(|mut frames| frames.next().ok().flatten());
        let location = frame.as_ref().and_then(|frame| frame.location.as_ref());
        let place = location.and_then(|it| Some((name(Path::new(it.file?)), it.line?)));
        let function = frame.as_ref().and_then(|frame| frame.function.as_ref());
        let within = function.and_then(|name| Some(name.raw_name().ok()?.into_owned()));
        let symbol = || Some(loader.as_ref()?.find_symbol(*address)?.to_owned());
        let within = within.or_else(symbol);
        match place {
            Some((file, line)) => (format!("{file}:{line}"), within),
            None => (format!("{}+{address:#x}", name(object)), within),
        }
    }
}

/// Minimum unexpected messages of a receive's site for advice.
const TOLD: u64 = 2;

/// Names the site that adds most to the unexpected queue, and whether the program could post its
/// receives earlier. `range` is the share of unexpected messages over several orders.
pub(super) fn advice(
    sites: &[SiteReport],
    sharing: &Sharing,
    range: Option<String>,
) -> Option<Advice> {
    let receives = sites.iter().filter(|site| site.function.contains("ecv"));
    let worst = receives.max_by_key(|site| (site.waiting_max, site.unexpected))?;
    if worst.waiting_max < TOLD {
        return None;
    }
    let SiteReport {
        place,
        function,
        count,
        unexpected,
        waiting_max,
        ..
    } = worst;
    let within = worst
        .within
        .as_ref()
        .map_or(String::new(), |within| format!(" ({within})"));
    let waited = worst.waited_ns.map_or(String::new(), |ns| {
        format!(
            ", {:.2} us each on average",
            ns as f64 / 1e3 / *unexpected as f64
        )
    });
    let what_to_do = if worst.probed * 2 > *unexpected {
        "It follows a probe, so it cannot be posted earlier."
    } else if worst.could_be_earlier * 2 <= *unexpected {
        "The program posts it before its sends already, so only the phase before could post it."
    } else if sharing.is_shared() {
        "Ranks shared processors, so their senders may have been ahead; record a run with one rank \
         per processor first."
    } else {
        "Post it earlier."
    };
    let known = sharing
        .words()
        .map_or(String::new(), |it| format!("; {it}"));
    let range = range.map_or(String::new(), |range| format!("; unexpected: {range}"));
    Some(Advice {
        topic: "sites",
        text: format!(
            "The {function} at {place}{within} makes the unexpected queue grow, because its messages come \
             first. {what_to_do}"
        ),
        because: format!(
            "{unexpected} of its {} came first, and up to {waiting_max} waited at once{waited}{range}{known}",
            counted(count, "message")
        ),
    })
}
