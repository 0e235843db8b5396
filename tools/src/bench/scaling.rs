//! Scaling of the rate with the number of processors, each with its own shard.
//!
//! One shard needs two processors: a sender, and a receiver that runs the NIC. With several shards
//! every processor does both: it sends to the next shard and receives on its own. So every message
//! crosses from one processor to another, as with one shard.
//!
//! A model covers more shards than processors. Shards share only memory, so an evenly distributed
//! window takes as long as one shard takes for its share, which two processors can measure.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crossbeam_utils::CachePadded;
use dpa_model::{Hints, NicConfig, Rank, SendError, Tag, Wait};
use dpamatch::endpoint::{
    CommSender, Communicator, Drive, Endpoint, EndpointConfig, EndpointError, RecvRequest, Shards,
};
use dpamatch::processors;

use super::error::BenchError;
use super::stats::Summary;

#[derive(Clone, Debug)]
pub struct Scaling {
    pub nic: NicConfig,
    /// Processors; the row with n uses the first n.
    pub processors: Vec<usize>,
    pub window: usize,
    pub windows: usize,
    pub rounds: usize,
}

/// The rate of a number of shards on a number of processors.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct ScalingRow {
    pub shards: usize,
    pub processors: usize,
    /// Messages per second of all shards together, over the rounds.
    pub rate: Summary,
    pub rounds: Vec<f64>,
    /// Rate per processor relative to two processors with a shard each. `None` without such a row.
    pub efficiency: Option<f64>,
}

/// The model's result for one window in equal shares on a number of shards.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct ShareRow {
    pub shards: usize,
    /// Messages per share, rounded up.
    pub share: usize,
    /// Nanoseconds of one shard for a window of that length, over the rounds.
    pub time_ns: Summary,
    pub rounds: Vec<f64>,
    /// Speed-up over one shard with the whole window: the median of the rounds' ratios.
    pub speed_up: f64,
}

impl ShareRow {
    pub fn efficiency(&self) -> f64 {
        self.speed_up / self.shards as f64
    }
}

#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Scaled {
    /// Rates of several shards on as many processors.
    pub rows: Vec<ScalingRow>,
    /// Times of a window's shares on one shard.
    pub shares: Vec<ShareRow>,
}

const SHARED_AMONG: [usize; 5] = [1, 2, 4, 8, 16];

const BYTES: usize = 8;

impl Scaling {
    /// Shards and processors of each row: one shard on two processors; 2, 4, 8 and so on with one
    /// each; and all processors.
    pub fn rows(&self) -> Vec<(usize, usize)> {
        let all = self.processors.len();
        if all < 2 {
            return Vec::new();
        }
        let doubled = std::iter::successors(Some(2), |count| Some(count * 2));
        let mut counts: Vec<usize> = doubled.take_while(|&count| count <= all).collect();
        if counts.last() != Some(&all) {
            counts.push(all);
        }
        std::iter::once((1, 2))
            .chain(counts.into_iter().map(|count| (count, count)))
            .collect()
    }

    /// Shards and share lengths of the model.
    pub fn shares(&self) -> Vec<(usize, usize)> {
        let shards = SHARED_AMONG
            .into_iter()
            .filter(|&shards| shards <= self.window);
        shards
            .map(|shards| (shards, self.window.div_ceil(shards)))
            .collect()
    }

    /// Measures all rows and shares, round by round. It calls `after` after each measurement.
    ///
    /// # Errors
    /// [`BenchError`]; [`BenchError::WrongMessage`] if a receive got another message than the next
    /// one of its sender.
    pub fn measure(&self, mut after: impl FnMut()) -> Result<Scaled, BenchError> {
        let (rows, shares) = (self.rows(), self.shares());
        let mut rates = vec![Vec::new(); rows.len()];
        let mut times = vec![Vec::new(); shares.len()];
        for _ in 0..self.rounds {
            for (&(shards, processors), rates) in rows.iter().zip(&mut rates) {
                rates.push(self.round(shards, processors)?);
                after();
            }
            for (&(_, share), times) in shares.iter().zip(&mut times) {
                let part = Self {
                    window: share,
                    ..self.clone()
                };
                times.push(share as f64 * 1e9 / part.round(1, 2)?);
                after();
            }
        }
        Ok(Scaled {
            rows: scaling_rows(&rows, rates)?,
            shares: share_rows(&shares, times)?,
        })
    }

    fn round(&self, shards: usize, processors: usize) -> Result<f64, BenchError> {
        let config = EndpointConfig {
            nic: self.nic,
            drive: Drive::Caller,
        };
        let mut all = Shards::new(&config, shards).map_err(built)?;
        let spread = Hints {
            no_any_source: true,
            ..Hints::default()
        };
        let comm = all.create_comm(spread).map_err(|_| BenchError::Nothing)?;
        let ranks: Vec<Rank> = (0..shards as u32)
            .map(Rank::new)
            .collect::<Result<_, _>>()
            .map_err(|_| BenchError::Nothing)?;
        let senders: Vec<CommSender> = ranks.iter().map(|&rank| all.sender(&comm, rank)).collect();
        let table = Table {
            posted: (0..shards).map(|_| CachePadded::default()).collect(),
            failed: AtomicBool::new(false),
            begin: Barrier::new(processors),
            window: self.window,
            windows: self.windows,
        };
        // Thread t receives on shard t, if it exists, and sends to the shard of thread t - 1.
        let mut owns: Vec<Option<Own<'_>>> = Vec::new();
        for (endpoint, (shard, &rank)) in all.endpoints().iter_mut().zip(ranks.iter().enumerate()) {
            let part = comm.part(shard).ok_or(BenchError::Nothing)?;
            owns.push(Some(Own {
                endpoint,
                part,
                shard,
                rank,
            }));
        }
        owns.resize_with(processors, || None);
        let mut targets: Vec<Option<Target>> = senders
            .into_iter()
            .enumerate()
            .map(|(shard, sender)| Some(Target { sender, shard }))
            .collect();
        targets.resize_with(processors, || None);
        targets.rotate_left(1);
        let slowest_ns = std::thread::scope(|scope| {
            let members = owns.into_iter().zip(targets).zip(&self.processors);
            let threads: Vec<_> = members
                .map(|((own, target), &processor)| {
                    let table = &table;
                    scope.spawn(move || {
                        // If the system refuses, it chooses the processor.
                        let _ = processors::pin_to(processor);
                        Member { own, target, table }.run()
                    })
                })
                .collect();
            let times = threads.into_iter().map(|thread| {
                thread
                    .join()
                    .map_err(|_| BenchError::Panic)
                    .and_then(|time| time)
            });
            times.collect::<Result<Vec<_>, _>>()
        })?
        .into_iter()
        .fold(0.0, f64::max);
        let messages = shards * self.window * self.windows;
        Ok(messages as f64 * 1e9 / slowest_ns)
    }
}

fn summary(values: &[f64]) -> Result<Summary, BenchError> {
    Summary::from_values(values).ok_or(BenchError::Nothing)
}

fn scaling_rows(
    rows: &[(usize, usize)],
    rates: Vec<Vec<f64>>,
) -> Result<Vec<ScalingRow>, BenchError> {
    let summaries: Vec<Summary> = rates
        .iter()
        .map(|rates| summary(rates))
        .collect::<Result<_, _>>()?;
    let per_processor = |row: usize| summaries[row].median / rows[row].1 as f64;
    let base = rows
        .iter()
        .position(|&row| row == (2, 2))
        .map(per_processor);
    let row = |(row, (&(shards, processors), rounds))| ScalingRow {
        shards,
        processors,
        rate: summaries[row],
        rounds,
        efficiency: base.map(|base| per_processor(row) / base),
    };
    Ok(rows.iter().zip(rates).enumerate().map(row).collect())
}

/// The rows from the times of each round. The first is one shard with the whole window.
fn share_rows(
    shares: &[(usize, usize)],
    times: Vec<Vec<f64>>,
) -> Result<Vec<ShareRow>, BenchError> {
    let whole = times.first().cloned().unwrap_or_default();
    let row = |(&(shards, share), rounds): (&(usize, usize), Vec<f64>)| {
        let ratios: Vec<f64> = whole
            .iter()
            .zip(&rounds)
            .map(|(whole, part)| whole / part)
            .collect();
        let speed_up = summary(&ratios)?.median;
        Ok(ShareRow {
            shards,
            share,
            time_ns: summary(&rounds)?,
            rounds,
            speed_up,
        })
    };
    shares.iter().zip(times).map(row).collect()
}

fn built(error: EndpointError) -> BenchError {
    match error {
        EndpointError::Config(error) => BenchError::Config(error),
        EndpointError::Thread(error) => BenchError::Thread(error),
        _ => BenchError::Nothing,
    }
}

struct Table {
    /// Number of windows whose receives each shard has posted.
    posted: Vec<CachePadded<AtomicU64>>,
    failed: AtomicBool,
    begin: Barrier,
    window: usize,
    windows: usize,
}

struct Own<'a> {
    endpoint: &'a mut Endpoint,
    part: &'a Communicator,
    shard: usize,
    rank: Rank,
}

impl Own<'_> {
    fn progress(&mut self) -> bool {
        self.endpoint.progress()
    }
}

struct Target {
    sender: CommSender,
    shard: usize,
}

struct Member<'a> {
    own: Option<Own<'a>>,
    target: Option<Target>,
    table: &'a Table,
}

impl Member<'_> {
    /// Runs all windows; returns the time in nanoseconds.
    fn run(mut self) -> Result<f64, BenchError> {
        let mut buffers = vec![vec![0; BYTES]; self.table.window];
        let mut requests = Vec::with_capacity(self.table.window);
        self.table.begin.wait();
        let start = Instant::now();
        for window in 0..self.table.windows {
            let done = self.window(window, &mut buffers, &mut requests);
            if done.is_err() {
                // ordering: a flag that ends the others, and guards no other memory.
                self.table.failed.store(true, Ordering::Relaxed);
            }
            done?;
        }
        Ok(start.elapsed().as_nanos() as f64)
    }

    fn window(
        &mut self,
        window: usize,
        buffers: &mut Vec<Vec<u8>>,
        requests: &mut Vec<RecvRequest>,
    ) -> Result<(), BenchError> {
        if let Some(own) = &mut self.own {
            for place in 0..self.table.window {
                let buffer = buffers.pop().unwrap_or_default();
                let posted = own
                    .endpoint
                    .post_recv(own.part, own.rank, tag(place), buffer);
                requests.push(posted.map_err(|_| BenchError::Nothing)?);
            }
            // ordering: one release, one acquire: the sender sees that the NIC has the posts.
            self.table.posted[own.shard].store(window as u64 + 1, Ordering::Release);
        }
        self.send(window)?;
        let Some(own) = &mut self.own else {
            return Ok(());
        };
        for (place, request) in requests.drain(..).enumerate() {
            let mut request = Some(request);
            let received = wait(self.table, || own.endpoint.test(&mut request))?;
            let received = received.map_err(|_| BenchError::Nothing)?;
            if received.bytes() != number(self.table, window, place).to_le_bytes() {
                return Err(BenchError::WrongMessage {
                    receive: place,
                    message: place,
                });
            }
            buffers.push(received.buffer);
        }
        Ok(())
    }

    /// Sends a window, and runs the own NIC while the target's queue is full.
    fn send(&mut self, window: usize) -> Result<(), BenchError> {
        let Self {
            own,
            target: Some(Target { sender, shard }),
            table,
        } = self
        else {
            return Ok(());
        };
        let posted = &table.posted[*shard];
        wait(table, || {
            // ordering: the acquire of the release in `window`.
            if posted.load(Ordering::Acquire) > window as u64 {
                return Some(());
            }
            own.as_mut().map(Own::progress);
            None
        })?;
        for place in 0..table.window {
            let bytes = number(table, window, place).to_le_bytes();
            wait(table, || match sender.try_send(tag(place), &bytes) {
                Ok(()) => Some(Ok(())),
                Err(SendError::Stopped) => Some(Err(BenchError::Nothing)),
                Err(_) => {
                    own.as_mut().map(Own::progress);
                    None
                }
            })??;
        }
        Ok(())
    }
}

/// Polls until `ready` returns a value or another thread has given up.
fn wait<R>(table: &Table, mut ready: impl FnMut() -> Option<R>) -> Result<R, BenchError> {
    let mut wait = Wait::new();
    loop {
        if let Some(result) = ready() {
            return Ok(result);
        }
        // ordering: as in `run`.
        if table.failed.load(Ordering::Relaxed) {
            return Err(BenchError::Nothing);
        }
        wait.pause();
    }
}

fn tag(place: usize) -> Tag {
    Tag::new(place as u32).unwrap_or_default()
}

fn number(table: &Table, window: usize, place: usize) -> u64 {
    (window * table.window + place) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaling(processors: usize) -> Scaling {
        let processors = vec![processors::allowed().first().copied().unwrap_or(0); processors];
        let nic = NicConfig {
            bins: 64,
            ..NicConfig::default()
        };
        Scaling {
            nic,
            processors,
            window: 8,
            windows: 3,
            rounds: 2,
        }
    }

    #[test]
    fn rows_double_up_to_all_processors() {
        assert_eq!(scaling(1).rows(), []);
        assert_eq!(scaling(2).rows(), [(1, 2), (2, 2)]);
        assert_eq!(scaling(3).rows(), [(1, 2), (2, 2), (3, 3)]);
        assert_eq!(
            scaling(12).rows(),
            [(1, 2), (2, 2), (4, 4), (8, 8), (12, 12)]
        );
    }

    #[test]
    fn every_row_is_measured_in_every_round() {
        let mut measured = 0;
        let scaled = scaling(4)
            .measure(|| measured += 1)
            .expect("threads and small NICs");
        assert_eq!(measured, 2 * (3 + 4));
        let Scaled { rows, shares } = scaled;
        let shapes: Vec<_> = shares.iter().map(|row| (row.shards, row.share)).collect();
        assert_eq!(shapes, [(1, 8), (2, 4), (4, 2), (8, 1)]);
        for row in &shares {
            assert!(row.time_ns.min > 0.0 && row.time_ns.count == 2 && row.rounds.len() == 2);
        }
        let shapes: Vec<_> = rows
            .iter()
            .map(|row| (row.shards, row.processors))
            .collect();
        assert_eq!(shapes, [(1, 2), (2, 2), (4, 4)]);
        for row in &rows {
            assert!(row.rate.min > 0.0 && row.rate.count == 2 && row.rounds.len() == 2);
            let base = rows[1].rate.median / 2.0;
            let own = row.rate.median / row.processors as f64;
            assert_eq!(row.efficiency, Some(own / base));
        }
        assert_eq!(rows[1].efficiency, Some(1.0));
    }

    #[test]
    fn shares_are_compared_with_the_whole_window_of_their_round() {
        let times = vec![vec![100.0, 300.0, 800.0], vec![50.0, 100.0, 800.0]];
        let rows = share_rows(&[(1, 5), (2, 3)], times).expect("three rounds");
        assert_eq!((rows[0].speed_up, rows[0].efficiency()), (1.0, 1.0));
        // Ratios of 2, 3 and 1; the ratio of the medians would be 3.
        assert_eq!((rows[1].speed_up, rows[1].efficiency()), (2.0, 1.0));
        assert_eq!((rows[1].share, rows[1].time_ns.median), (3, 100.0));
        let odd = Scaling {
            window: 5,
            ..scaling(2)
        };
        assert_eq!(odd.shares(), [(1, 5), (2, 3), (4, 2)]);
    }

    #[test]
    fn a_wrong_configuration_is_an_error() {
        let mut scaling = scaling(2);
        scaling.nic.handlers = 0;
        assert!(matches!(scaling.measure(|| ()), Err(BenchError::Config(_))));
    }
}
