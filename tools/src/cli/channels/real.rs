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
use dpamatch_tools::table::{Cell, Table};

/// Messages of at least this length use the kernel module: the published threshold.
const THRESHOLD: usize = 4096;
/// One message in this many from the local process has that length.
const LARGE_EVERY: u32 = 50;
const FIFO: usize = 256;
const POSTED: u64 = 256;

pub(super) fn run(args: &Args, costs: &PollCosts, progress: &ProgressBar) -> anyhow::Result<Table> {
    let columns = [
        "policy",
        "messages",
        "ns_per_message",
        "network_polls",
        "network_empty",
        "shared_polls",
        "shared_empty",
        "kernel_polls",
        "kernel_empty",
        "reordered",
    ];
    let title = format!(
        "Real progress engine, matching by {}: a thread by shared memory and kernel module, one by the NIC, {} messages \
         each; order per sender and payloads checked.",
        args.engine, args.messages
    );
    let mut table = Table::new("real", title, columns).keyed(2).measured(&columns[2..]).extra([
        "kernel_empty",
        "shared_empty",
        "network_empty",
    ]);
    for &spec in &args.policy {
        let build = || engines::one(&args.engine).ok()?.engine(&EngineOptions::default());
        let engine =
            build().ok_or_else(|| BadInput(format!("{} is not a software engine", args.engine)))?;
        let (elapsed, counts) = measure(spec, costs, engine, args.messages)?;
        table.push(row(spec, args.messages, elapsed, &counts));
        progress.inc(1);
    }
    Ok(table)
}

/// The result of a policy with `each` messages from each of the two peers.
fn row(spec: PolicySpec, each: u32, elapsed: Duration, counts: &PollCounts) -> [Cell; 10] {
    let messages = 2 * u64::from(each);
    [
        spec.to_string().into(),
        messages.into(),
        (elapsed.as_nanos() as f64 / messages as f64).into(),
        counts.network.into(),
        counts.network_empty.into(),
        counts.shared.into(),
        counts.shared_empty.into(),
        counts.kernel.into(),
        counts.kernel_empty.into(),
        counts.reordered.into(),
    ]
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
        let row = row(PolicySpec::RoundRobin, 100, Duration::from_micros(50), &counts);
        let mut table = Table::new("real", "", [""; 10]);
        table.push(row);
        let csv = table.csv();
        assert_eq!(csv.lines().last(), Some("round-robin,200,250,1,2,3,4,5,6,7"), "{csv}");
    }
}
