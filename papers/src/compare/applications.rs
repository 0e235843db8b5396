//! Applications as whole jobs: queues, searches by kind, dedicated queues and their overhead.

use std::collections::BTreeMap;
use std::time::Duration;

use super::CompareError;
use super::drawn::{Drawn, draw};
use super::experiment::{Plan, Progress, Report};
use super::measure::Digest;
use dpamatch::engine::{
    ArrayLife, Counter, DedicatedConfig, DedicatedEngine, Engine, QueueStats, dedicated_queue_cap,
};
use dpamatch::registry::{EngineEntry, EngineOptions};
use dpamatch::stream::{KindStats, Kinds, StreamMatcher};
use dpamatch_tools::table::{Cell, Table};
use dpamatch_tools::workload::{App, Job};
use dpamatch_vocabulary::CommId;

/// Job size of the comparisons by kind.
const RANKS: u32 = 512;
/// Table 3 of the four-dimensional queue's paper: ranks, logarithm of Radix's keys, then MQL, AQL,
/// MASL and ASL of PRQ and UMQ.
const TABLE_3: [(App, u32, u32, [[f64; 4]; 2]); 6] = [
    (
        App::Radix,
        512,
        28,
        [
            [4.0, 4.0, 0.998, 0.817],
            [3075.4, 437.871, 1519.743, 35.214],
        ],
    ),
    (
        App::Radix,
        512,
        29,
        [
            [4.0, 4.0, 0.998, 0.823],
            [6110.0, 450.395, 3425.498, 43.852],
        ],
    ),
    (
        App::Radix,
        512,
        30,
        [
            [4.0, 4.0, 0.979, 0.832],
            [12577.6, 493.384, 7032.490, 64.914],
        ],
    ),
    (
        App::Nbody,
        256,
        28,
        [
            [255.0, 255.0, 0.978, 0.948],
            [247.25, 85.745, 17.449, 3.572],
        ],
    ),
    (
        App::Nbody,
        512,
        28,
        [
            [511.0, 505.770, 0.972, 0.885],
            [497.5, 361.997, 31.137, 17.721],
        ],
    ),
    (
        App::Nbody,
        704,
        28,
        [
            [703.0, 702.968, 0.861, 0.817],
            [694.75, 656.653, 39.982, 30.423],
        ],
    ),
];

/// Engines that the papers timed.
const TIMED: [&str; 7] = [
    "list",
    "rank-array",
    FREED,
    "4d",
    "col-pnp",
    "col-ll",
    "ll-pnp",
];
/// The array as the paper has it, which goes when the queues are empty.
const FREED: &str = "rank-array-freed";

pub(super) const QUEUES: [&str; 2] = ["PRQ", "UMQ"];
pub(super) const KINDS: [&str; 3] = ["p2p", "collective", "all"];

/// Published speed-ups of searches over a list: application, engine, kind, PRQ and UMQ. The largest
/// gains of the four-dimensional queue's paper are of both queues' time, and stand with the UMQ.
#[rustfmt::skip]
pub(super) const SPEEDUPS: [(App, &str, &str, [Option<f64>; 2]); 13] = [
    (App::Radix, "rank-array", "all", [None, Some(8.09)]),
    (App::Radix, "4d", "all", [None, Some(4.99)]),
    (App::Nbody, "4d", "all", [None, Some(2.0)]),
    (App::RadixCol, "col-pnp", "all", [Some(1.14), Some(1.15)]),
    (App::NbodyCol, "rank-array", "collective", [Some(1.22), Some(1.1)]),
    (App::NbodyCol, "col-ll", "p2p", [Some(1.37), Some(1.23)]),
    (App::NbodyCol, "col-ll", "all", [Some(1.27), Some(1.18)]),
    (App::NbodyCol, "ll-pnp", "p2p", [None, Some(2.26)]),
    (App::NbodyCol, "col-pnp", "all", [Some(1.89), Some(1.94)]),
    (App::Fds, "col-ll", "p2p", [Some(71.0), Some(3.34)]),
    (App::Fds, "col-ll", "all", [Some(52.0), Some(27.0)]),
    (App::Fds, "ll-pnp", "collective", [Some(2.0), Some(17.0)]),
    (App::Fds, "col-pnp", "p2p", [Some(73.0), Some(4.4)]),
];

/// Published speed-ups of collective elements' searches at the largest k: PRQ and UMQ.
const BY_K: [(App, [f64; 2]); 3] = [
    (App::NbodyCol, [1.33, 1.09]),
    (App::MiniAmr, [1.46, 1.37]),
    (App::Fds, [42.0, 42.0]),
];

/// Published collective elements of a process of N-body at 512 ranks: PRQ and UMQ.
const ELEMENTS: [f64; 2] = [25_000.0, 11_000.0];

fn elements_printed(job: &Job, queue: usize) -> Option<f64> {
    (job.app == App::NbodyCol && job.ranks == RANKS).then(|| ELEMENTS[queue])
}

/// Published ratios of overhead to search time at three job sizes.
const OVERHEADS: [(App, [(u32, f64); 3]); 4] = [
    (
        App::RadixCol,
        [(512, 0.0359), (1024, 0.03027), (2048, 0.0175)],
    ),
    (
        App::NbodyCol,
        [(256, 0.1563), (512, 0.0589), (1024, 0.0343)],
    ),
    (
        App::MiniAmr,
        [(512, 0.0192), (1024, 0.0366), (2048, 0.0138)],
    ),
    (App::Fds, [(512, 0.0027), (1024, 0.0021), (2048, 0.0020)]),
];

/// One queue over all processes of a job.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// MQL: the longest queue of any process.
    longest: u64,
    /// Sum of the processes' longest queues.
    longest_sum: u64,
    /// MASL: the longest average search of any process.
    search: f64,
    /// Sum of the processes' average searches.
    search_sum: f64,
}

impl Queue {
    fn add(&mut self, stats: &QueueStats) {
        let search = stats.depth_sum as f64 / stats.searches().max(1) as f64;
        self.longest = self.longest.max(stats.length_max);
        self.longest_sum += stats.length_max;
        self.search = self.search.max(search);
        self.search_sum += search;
    }

    /// MQL, AQL, MASL and ASL.
    fn values(&self, ranks: u32) -> [f64; 4] {
        let ranks = f64::from(ranks);
        let mean_length = self.longest_sum as f64 / ranks;
        [
            self.longest as f64,
            mean_length,
            self.search,
            self.search_sum / ranks,
        ]
    }
}

/// A job's result on one engine, over all ranks.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) engine: String,
    /// Processes run.
    pub(super) processes: u32,
    kinds: Kinds,
    queues: [Queue; 2],
    digest: Digest,
    time: Duration,
    memory: u64,
    allocations: u64,
    /// Sums of the engine's own counters.
    sums: BTreeMap<String, u64>,
    /// Dedicated queues of the rank with the most.
    pub(super) most_queues: u64,
}

impl Outcome {
    fn of(&self, queue: usize, kind: usize) -> KindStats {
        let queue = if queue == 0 {
            self.kinds.prq
        } else {
            self.kinds.umq
        };
        match queue {
            [p2p, collective] if kind == 2 => KindStats {
                entered: p2p.entered + collective.entered,
                searches: p2p.searches + collective.searches,
                attempts: p2p.attempts + collective.attempts,
                hops: p2p.hops + collective.hops,
            },
            kinds => kinds[kind],
        }
    }

    /// Mean number of elements of a kind that enter a queue of a process.
    fn elements(&self, queue: usize, kind: usize) -> f64 {
        self.of(queue, kind).entered as f64 / f64::from(self.processes)
    }

    pub(super) fn fewer_steps_than(&self, other: &Self, queue: usize, kind: usize) -> Option<f64> {
        let steps = self.of(queue, kind).steps();
        (steps > 0).then(|| other.of(queue, kind).steps() as f64 / steps as f64)
    }

    /// A counter of the engine's over both queues.
    pub(super) fn both(&self, name: &str) -> u64 {
        let of = |queue: &str| {
            self.sums
                .get(&format!("{queue}_{name}"))
                .copied()
                .unwrap_or(0)
        };
        of("prq") + of("umq")
    }
}

/// An engine by name, made for each rank of a job of this size.
type Make<'a> = (String, Box<dyn Fn(u32) -> Option<Box<dyn Engine>> + 'a>);

fn engines(plan: &Plan) -> Vec<Make<'_>> {
    let software = plan.engines.iter().filter(|entry| entry.is_software());
    let make = |entry: &&'static EngineEntry| -> Make<'_> {
        let entry = *entry;
        let options = |ranks| EngineOptions {
            comm_size: Some(ranks),
            ..plan.options.clone()
        };
        (
            entry.name.to_owned(),
            Box::new(move |ranks| entry.engine(&options(ranks))),
        )
    };
    software.map(make).collect()
}

/// The array of [`FREED`].
fn freed(plan: &Plan) -> Option<Make<'_>> {
    let entry = *plan.engines.iter().find(|it| it.name == "rank-array")?;
    let options = |ranks| EngineOptions {
        comm_size: Some(ranks),
        array_life: ArrayLife::Entries,
        ..plan.options.clone()
    };
    let make = move |ranks| entry.engine(&options(ranks));
    Some((FREED.to_owned(), Box::new(make)))
}

/// Rows of time and memory of an application of the four-dimensional queue's paper.
fn costs(table: &mut Table, job: &Job, all: &[Outcome], freed: &[Outcome]) {
    let list = &all[0];
    let own = all
        .iter()
        .filter(|own| ["rank-array", "4d"].contains(&own.engine.as_str()));
    for own in own.chain(freed) {
        let mean = |sum: u64| sum as f64 / f64::from(own.processes);
        let faster = list.time.as_secs_f64() / own.time.as_secs_f64();
        let steps = |it: &Outcome| it.of(0, 2).steps() + it.of(1, 2).steps();
        table.row([
            ("application", job.app.name().into()),
            ("ranks", job.ranks.into()),
            ("engine", own.engine.as_str().into()),
            (
                "fewer steps",
                (steps(list) as f64 / steps(own).max(1) as f64).into(),
            ),
            ("faster", faster.is_finite().then_some(faster).into()),
            ("bytes", mean(own.memory).into()),
            (
                "over the list",
                (mean(own.memory) - mean(list.memory)).into(),
            ),
            ("allocations", mean(own.allocations).into()),
        ]);
    }
}

fn col_pnp(plan: &Plan, k_collective: u32) -> Make<'static> {
    let (k_partner, theta) = (Some(plan.options.k), plan.options.theta);
    let k_collective = Some(k_collective);
    let config = DedicatedConfig {
        k_collective,
        k_partner,
        theta,
        processes: None,
    };
    (
        "col-pnp".to_owned(),
        Box::new(move |_| Some(Box::new(DedicatedEngine::new(config)))),
    )
}

/// Runs every rank of a job on all engines. The first engine is the baseline of the results.
fn run(job: &Job, engines: &[Make<'_>], timed: bool) -> Result<Vec<Outcome>, CompareError> {
    let mut all: Vec<Outcome> = engines
        .iter()
        .map(|(name, _)| Outcome {
            engine: name.clone(),
            processes: job.processes().len() as u32,
            ..Outcome::default()
        })
        .collect();
    for rank in job.processes() {
        let events = job.events(rank);
        for ((_, make), own) in engines.iter().zip(&mut all) {
            let build = || -> Option<Box<dyn Engine>> {
                let mut engine = make(job.ranks)?;
                (0..2).for_each(|comm| engine.set_comm_size(CommId(comm), job.ranks));
                Some(engine)
            };
            let Some(mut engine) = build() else { continue };
            for &event in &events {
                let outcome = own.kinds.apply(engine.as_mut(), event);
                outcome
                    .into_iter()
                    .for_each(|outcome| own.digest.add(outcome));
            }
            let stats = *engine.stats();
            [&stats.prq, &stats.umq]
                .iter()
                .zip(&mut own.queues)
                .for_each(|(it, sum)| sum.add(it));
            own.memory += stats.memory_bytes_max;
            own.allocations += stats.allocations;
            let mut queues = 0;
            for Counter { name, value } in engine.own_counters() {
                queues += if name.ends_with("_queues") { value } else { 0 };
                *own.sums.entry(name.into_owned()).or_default() += value;
            }
            own.most_queues = own.most_queues.max(queues);
            let timed = timed && TIMED.contains(&own.engine.as_str());
            if let (true, Some(mut engine)) = (timed, build()) {
                let engine_name = own.engine.clone();
                let failed = |source| CompareError::Run {
                    engine: engine_name,
                    source,
                };
                own.time += engine.as_mut().time(&[], &events).map_err(failed)?;
            }
        }
    }
    let differs = |own: &&Outcome| own.digest != all[0].digest;
    match all.iter().skip(1).find(differs) {
        None => Ok(all),
        Some(own) => {
            let (engine, baseline) = (own.engine.clone(), all[0].engine.clone());
            let case = format!("{} of {} ranks", job.app, job.ranks);
            Err(CompareError::Differs {
                engine,
                baseline,
                case,
            })
        }
    }
}

/// The jobs of the table of queues: the published ones, and all applications at the given sizes.
fn jobs(plan: &Plan) -> Vec<(Job, Option<[[f64; 4]; 2]>)> {
    let job = |app, ranks, keys| Job {
        app,
        ranks,
        keys,
        seed: plan.seed,
    };
    let printed = TABLE_3.map(|(app, ranks, keys, values)| (job(app, ranks, keys), Some(values)));
    let wanted: Vec<_> = match plan.ranks.as_slice() {
        [] => printed.into_iter().collect(),
        given => printed
            .into_iter()
            .filter(|(job, _)| given.contains(&job.ranks))
            .collect(),
    };
    let sizes = plan.ranks_or(&[RANKS]);
    let usual = sizes
        .iter()
        .flat_map(|&n| App::ALL.iter().map(move |&app| job(app, n, 28)));
    let others = usual.filter(|job| wanted.iter().all(|(other, _)| other != job));
    let others: Vec<_> = others.map(|job| (job, None)).collect();
    wanted.into_iter().chain(others).collect()
}

/// Queues of whole jobs, searches by kind, and numbers of dedicated queues.
pub(super) fn applications(plan: &Plan, progress: Progress<'_>) -> Result<Report, CompareError> {
    let mut queues = Table::open("applications", "Queues of whole jobs, in a list")
        .keyed(4)
        .note("MQL: longest queue of any process; AQL: mean of the processes' longest queues.")
        .note("MASL, ASL: greatest and mean average search of the processes, in compares.")
        .note("The streams are fitted to the printed values (workload/job.rs).")
        .note("Elements are means of a process. Of Nbody-COL eight processes stand for all.");
    let mut kinds = Table::open("applications-kinds", "Searches by kind of element")
        .keyed(5)
        .measured(["faster"])
        .note(
            "faster: time of one run relative to the list's, of the engines that the papers timed.",
        );
    let all_engines = engines(plan);
    let names = all_engines.iter().map(|(name, _)| name.as_str());
    let columns = ["application", "ranks"].into_iter().chain(names);
    let title = "Steps per search over both queues and all ranks";
    let mut steps = Table::new("applications-steps", title, columns).keyed(2);
    let mut beside = Table::open(
        "applications-printed",
        "Times fewer steps than the list, beside the paper",
    )
    .keyed(5)
    .note("Printed are ratios of times, of other programs and machines.");
    let mut memory = Table::open(
        "applications-costs",
        "Both queues of a process, and the memory for them, beside the list",
    )
    .keyed(3)
    .measured(["faster"])
    .note("Bytes and allocations are means of a process; faster: time of one run, list to own.")
    .note("rank-array-freed frees the array when its queues are empty, as the paper does.");
    let mut by_k = Table::open(
        "applications-k",
        "Collective elements by k_C, col-pnp: times fewer steps than the list, and queues",
    )
    .keyed(3)
    .note("Queues of a process: means, and the most; cap of both sides. Open MPI has one a rank.");
    let mut drawn: BTreeMap<u32, Vec<Drawn>> = BTreeMap::new();
    let jobs = jobs(plan);
    let count = jobs.len() as f64;
    for (i, (job, printed)) in jobs.iter().enumerate() {
        let &Job {
            app, ranks, keys, ..
        } = job;
        progress(i as f64 / count, &format!("{app} of {ranks} ranks"))?;
        let compared = keys == 28 && plan.ranks_or(&[RANKS]).contains(&ranks);
        let engines = if compared {
            &all_engines[..]
        } else {
            &all_engines[..1]
        };
        let results = run(job, engines, compared && plan.rounds > 0)?;
        let list = &results[0];
        for (q, queue) in QUEUES.into_iter().enumerate() {
            let (own, printed) = (
                list.queues[q].values(list.processes),
                printed.map(|it| it[q]),
            );
            let keys = (app == App::Radix).then_some(u64::from(keys));
            let mut row: Vec<(String, Cell)> = vec![
                ("application".into(), app.name().into()),
                ("ranks".into(), ranks.into()),
                ("log2 keys".into(), keys.into()),
                ("queue".into(), queue.into()),
                ("p2p elements".into(), list.elements(q, 0).into()),
                ("collective elements".into(), list.elements(q, 1).into()),
                (
                    "collective, printed".into(),
                    elements_printed(job, q).into(),
                ),
            ];
            for (i, name) in ["MQL", "AQL", "MASL", "ASL"].into_iter().enumerate() {
                row.push((name.into(), own[i].into()));
                row.push((format!("{name}, printed"), printed.map(|it| it[i]).into()));
            }
            queues.row(row);
        }
        if !compared {
            continue;
        }
        let per_search = |own: &Outcome| {
            let both = [own.of(0, 2), own.of(1, 2)];
            let of = |what: fn(&KindStats) -> u64| both.iter().map(what).sum::<u64>() as f64;
            Cell::Real(of(KindStats::steps) / of(|it| it.searches).max(1.0))
        };
        steps.push(
            [app.name().into(), ranks.into()]
                .into_iter()
                .chain(results.iter().map(per_search)),
        );
        for own in &results {
            by_kind(&mut kinds, job, own, list);
            for (_, _, kind, printed) in SPEEDUPS
                .iter()
                .filter(|(of, engine, ..)| *of == app && *engine == own.engine)
            {
                let place = KINDS.iter().position(|name| name == kind).unwrap_or(2);
                for (q, queue) in QUEUES.into_iter().enumerate() {
                    beside.row([
                        ("application", app.name().into()),
                        ("ranks", ranks.into()),
                        ("engine", own.engine.as_str().into()),
                        ("queue", queue.into()),
                        ("kind", (*kind).into()),
                        ("fewer steps", own.fewer_steps_than(list, q, place).into()),
                        ("printed", printed[q].into()),
                    ]);
                }
            }
        }
        if !app.has_dedicated_queues() {
            let engines: Vec<_> = freed(plan).into_iter().collect();
            let freed = run(job, &engines, plan.rounds > 0)?;
            costs(&mut memory, job, &results, &freed);
        }
        let mut by_cap = Vec::new();
        let by_paper = plan.k.iter().filter(|_| app.has_dedicated_queues());
        for &k in by_paper {
            let mut all = run(job, &[col_pnp(plan, k)], false)?;
            if all[0].digest != list.digest {
                let case = format!("{} of {ranks} ranks", app.name());
                let (engine, baseline) = (all[0].engine.clone(), list.engine.clone());
                return Err(CompareError::Differs {
                    engine,
                    baseline,
                    case,
                });
            }
            let most = plan.k.iter().max() == Some(&k);
            let printed = BY_K
                .iter()
                .find(|(of, _)| most && *of == app)
                .map(|(_, both)| both);
            let processes = f64::from(all[0].processes);
            let mean = |name| Cell::Real(all[0].both(name) as f64 / processes);
            let fewer = |queue| all[0].fewer_steps_than(list, queue, 1).into();
            by_k.row([
                ("application", app.name().into()),
                ("ranks", ranks.into()),
                ("k_C", k.into()),
                ("PRQ", fewer(0)),
                ("PRQ, printed", printed.map(|it| it[0]).into()),
                ("UMQ", fewer(1)),
                ("UMQ, printed", printed.map(|it| it[1]).into()),
                ("p2p queues", mean("partner_queues")),
                ("collective queues", mean("collective_queues")),
                ("most", all[0].most_queues.into()),
                (
                    "cap",
                    (2 * dedicated_queue_cap(k + plan.options.k, ranks)).into(),
                ),
            ]);
            by_cap.push((k, all.remove(0)));
        }
        drawn.entry(ranks).or_default().push(Drawn {
            app,
            engines: results,
            by_cap,
        });
    }
    let queues = queues.extra(["p2p elements", "collective elements", "collective, printed"]);
    let summary = vec![
        queues.clone(),
        steps,
        beside.clone(),
        memory.clone(),
        by_k.clone(),
    ];
    let figures = drawn
        .iter()
        .map(|(&ranks, apps)| draw(ranks, apps, plan.options.k))
        .collect();
    Ok(Report {
        summary,
        data: vec![queues, kinds, beside, memory, by_k],
        figures,
    })
}

/// Rows of an engine: both queues, each kind and all.
fn by_kind(table: &mut Table, job: &Job, own: &Outcome, list: &Outcome) {
    let faster = list.time.as_secs_f64() / own.time.as_secs_f64();
    for (q, queue) in QUEUES.into_iter().enumerate() {
        for (k, kind) in KINDS.into_iter().enumerate() {
            let KindStats {
                entered,
                searches,
                attempts,
                hops,
            } = own.of(q, k);
            table.row([
                ("application", job.app.name().into()),
                ("ranks", job.ranks.into()),
                ("engine", own.engine.as_str().into()),
                ("queue", queue.into()),
                ("kind", kind.into()),
                ("elements", entered.into()),
                ("searches", searches.into()),
                ("attempts", attempts.into()),
                ("hops", hops.into()),
                (
                    "fewer_steps_than_list",
                    own.fewer_steps_than(list, q, k).into(),
                ),
                ("memory_bytes_max", own.memory.into()),
                ("allocations", own.allocations.into()),
                (
                    "faster",
                    (k == 2 && faster.is_finite()).then_some(faster).into(),
                ),
            ]);
        }
    }
}

/// Cost of profiling, extracting parameters and choosing queues, compared with the searches.
pub(super) fn overhead(plan: &Plan, progress: Progress<'_>) -> Result<Report, CompareError> {
    let title = "Overhead of dedicated queues to their search time, col-pnp";
    let mut table = Table::open("overhead", title)
        .keyed(2)
        .note("Steps: parameter sets, ranks and queue choices, divided by compares and hops.")
        .note("Printed are ratios of times.");
    for (i, (app, sizes)) in OVERHEADS.into_iter().enumerate() {
        progress(i as f64 / OVERHEADS.len() as f64, app.name())?;
        for ranks in plan.ranks_or(&sizes.map(|(ranks, _)| ranks)) {
            let printed = sizes
                .into_iter()
                .find(|(size, _)| *size == ranks)
                .map(|(_, it)| it);
            let job = Job {
                app,
                ranks,
                keys: 28,
                seed: plan.seed,
            };
            let all = run(&job, &[col_pnp(plan, plan.options.k)], false)?;
            let own = &all[0];
            let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
            let searches = own.of(0, 2).steps() + own.of(1, 2).steps();
            table.row([
                ("application", app.name().into()),
                ("ranks", ranks.into()),
                (
                    "overhead/search, steps",
                    ratio(own.both("overhead_steps"), searches).into(),
                ),
                ("overhead/search, printed", printed.into()),
            ]);
        }
    }
    Ok(Report {
        summary: vec![table.clone()],
        data: vec![table],
        figures: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpamatch::registry;

    /// The streams meet the published lengths and searches within 13 %, and the kinds of elements:
    /// Radix all collective, Nbody with 25,000 and 11,000 a process and as many others or more,
    /// MiniAMR and FDS mixed, mostly collective.
    #[test]
    fn whole_jobs_are_like_the_published_ones() {
        let make = |_| registry::find("list")?.engine(&EngineOptions::default());
        let of = |app, ranks, keys| {
            let list: Vec<Make<'_>> = vec![("list".to_owned(), Box::new(make))];
            let job = Job {
                app,
                ranks,
                keys,
                seed: 1,
            };
            run(&job, &list, false).expect("a list").remove(0)
        };
        for (app, ranks, keys, printed) in TABLE_3 {
            for (queue, printed) in of(app, ranks, keys).queues.iter().zip(printed) {
                for (own, printed) in queue.values(ranks).into_iter().zip(printed) {
                    let what = format!("{app} of {ranks} ranks, 2^{keys}: {own} for {printed}");
                    assert!((own / printed - 1.0).abs() < 0.13, "{what}");
                }
            }
        }
        let collective = |app| {
            let own = of(app, 64, 28);
            [0, 1].map(|queue| own.elements(queue, 1) / own.elements(queue, 2))
        };
        for radix in [App::Radix, App::RadixCol] {
            assert_eq!(collective(radix), [1.0, 1.0]);
        }
        let shares = [App::MiniAmr, App::Fds].map(collective);
        assert!(
            shares.as_flattened().iter().all(|&share| share > 0.5),
            "{shares:?}"
        );
        let own = of(App::NbodyCol, RANKS, 28);
        for (queue, printed) in ELEMENTS.into_iter().enumerate() {
            let collective = own.elements(queue, 1);
            assert!((collective / printed - 1.0).abs() < 0.04, "{collective}");
            assert!(collective < own.elements(queue, 0), "{collective}");
        }
    }
}
