//! Runs the policies in the real progress engine: threads send, one thread polls.

use std::time::{Duration, Instant};

use dpamatch::engine::Engine;
use dpamatch::registry::EngineOptions;
use dpamatch::{NicConfig, Rank, SourceSel, Tag, TagSel};
use dpamatch_tools::channels::kernel::KernelModule;
use dpamatch_tools::channels::network::Network;
use dpamatch_tools::channels::{LocalPeer, PolicySpec, PollCosts, PollCounts, ProgressEngine};
use dpamatch_vocabulary::{CommId, Selector};

use indicatif::ProgressBar;

use super::super::{BadInput, engines};
use super::Args;
use dpamatch_tools::table::{Column, Table};

/// Messages of at least this length use the kernel module: the published threshold.
const THRESHOLD: usize = 4096;
/// One message in this many from the local process has that length.
const LARGE_EVERY: u32 = 50;
const FIFO: usize = 256;
const POSTED: u64 = 256;

pub(super) fn run(args: &Args, costs: &PollCosts, progress: &ProgressBar) -> anyhow::Result<Table> {
    let mut runs = Vec::new();
    for &spec in &args.policy {
        let build = || engines::one(&args.engine).ok()?.engine(&EngineOptions::default());
        let engine =
            build().ok_or_else(|| BadInput(format!("{} is not a software engine", args.engine)))?;
        let (elapsed, counts) = measure(spec, costs, engine, args.messages)?;
        runs.push(Run { spec, messages: 2 * u64::from(args.messages), elapsed, counts });
        progress.inc(1);
    }
    let title = format!(
        "Real progress engine, matching by {}: a thread by shared memory and kernel module, one by the NIC, {} messages \
         each; order per sender and payloads checked.",
        args.engine, args.messages
    );
    Ok(table(title, &runs))
}

/// The result of a policy with the messages of both peers.
struct Run {
    spec: PolicySpec,
    messages: u64,
    elapsed: Duration,
    counts: PollCounts,
}

fn table(title: String, runs: &[Run]) -> Table {
    let columns: [Column<'_, &Run>; 10] = [
        ("policy", |it| it.spec.to_string().into()),
        ("messages", |it| it.messages.into()),
        ("ns_per_message", |it| (it.elapsed.as_nanos() as f64 / it.messages as f64).into()),
        ("network_polls", |it| it.counts.network.into()),
        ("network_empty", |it| it.counts.network_empty.into()),
        ("shared_polls", |it| it.counts.shared.into()),
        ("shared_empty", |it| it.counts.shared_empty.into()),
        ("kernel_polls", |it| it.counts.kernel.into()),
        ("kernel_empty", |it| it.counts.kernel_empty.into()),
        ("reordered", |it| it.counts.reordered.into()),
    ];
    let table = Table::of("real", title, runs).columns(&columns).keyed(2);
    let table = table.measured(&columns.map(|(name, _)| name)[2..]);
    table.extra(["kernel_empty", "shared_empty", "network_empty"])
}

fn measure(
    spec: PolicySpec,
    costs: &PollCosts,
    matcher: Box<dyn Engine>,
    messages: u32,
) -> anyhow::Result<(Duration, PollCounts)> {
    let network = Network::new(&NicConfig::default())?;
    let kernel = KernelModule::new(Duration::from_nanos(costs.kernel_ns));
    let mut engine = ProgressEngine::new(matcher, spec.build(costs), network, kernel);
    let comm = CommId(0);
    let [near, far] = [Rank::new(1)?, Rank::new(2)?];
    engine.add_local(near);
    let mut local =
        LocalPeer::new(near, comm, THRESHOLD, engine.shared.connect(FIFO), engine.kernel.connect());
    let mut remote = engine.network.connect(far, comm);
    let tag = Tag::default();
    let any = Selector::new(SourceSel::Any, TagSel::Any);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for i in 0..messages {
                let length = if i % LARGE_EVERY == LARGE_EVERY - 1 { THRESHOLD } else { 8 };
                local.send(tag, vec![i as u8; length]);
            }
        });
        let sending =
            scope.spawn(move || (0..messages).try_for_each(|i| remote.send(tag, &[i as u8; 8])));
        let mut sending = Some(sending);
        let total = 2 * u64::from(messages);
        let mut posted = POSTED.min(total);
        for _ in 0..posted {
            engine.post(comm, any, THRESHOLD);
        }
        let (mut received, mut next) = (0, [0_u64; 3]);
        while received < total {
            if !engine.progress() {
                if let Some(ended) = sending.take_if(|sending| sending.is_finished()) {
                    ended.join().map_err(|_| anyhow::anyhow!("the sender panicked"))??;
                }
                std::hint::spin_loop();
            }
            while let Some(completed) = engine.completed() {
                let packet = completed.packet;
                let expected = &mut next[packet.envelope.source.get() as usize];
                anyhow::ensure!(
                    packet.sequence == *expected
                        && packet.payload.iter().all(|&byte| byte == *expected as u8),
                    "a message of rank {} came in wrong order or with wrong bytes",
                    packet.envelope.source.get()
                );
                *expected += 1;
                received += 1;
                if posted < total {
                    engine.post(comm, any, THRESHOLD);
                    posted += 1;
                }
            }
        }
        Ok(())
    })?;
    Ok((begin.elapsed(), engine.counts()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_peers_messages_share_the_time() {
        let counts = PollCounts {
            network: 1,
            network_empty: 2,
            shared: 3,
            shared_empty: 4,
            kernel: 5,
            kernel_empty: 6,
            reordered: 7,
        };
        let (spec, elapsed) = (PolicySpec::RoundRobin, Duration::from_micros(50));
        let table = table(String::new(), &[Run { spec, messages: 200, elapsed, counts }]);
        let csv = table.csv();
        assert_eq!(csv.lines().last(), Some("round-robin,200,250,1,2,3,4,5,6,7"), "{csv}");
    }
}
