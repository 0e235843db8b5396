//! The messages against those of MPI libraries, in `measured/`: one line for each call, with the
//! processes, operation, elements of 4 bytes, root, and for each receiver "sender*bytes*times".
//! `mpi/provider/mpi/collectives.c` makes the calls, and `collectives.sh` beside it the lines.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;

use super::*;
use dpamatch_traces::CollectiveKind::*;

/// The messages to a process: how many from each sender with each number of bytes.
type Received = BTreeMap<(usize, u64), u32>;

/// The steps of a process with the arguments of `mpi/provider/mpi/collectives.c`.
fn steps(
    library: Library,
    name: Option<&str>,
    kind: CollectiveKind,
    count: u64,
    [rank, size, root]: [usize; 3],
) -> Vec<Op> {
    let part = |rank: usize| (3 * rank as u64 + 1) % 5 * count;
    let pair = |from: usize, to: usize| (from as u64 + 2 * to as u64) % 4 * count;
    let list = |each: &dyn Fn(usize) -> u64| (0..size).map(|rank| each(rank) as u32).collect();
    let counts: Vec<u32> = match kind {
        Gatherv | Scatterv if rank == root => list(&part),
        Allgatherv | ReduceScatter => list(&part),
        Alltoallv => list(&|other| pair(other, rank)),
        _ => Vec::new(),
    };
    let sent_counts = if kind == Alltoallv {
        list(&|other| pair(rank, other))
    } else {
        Vec::new()
    };
    let call = Call {
        root,
        count: if matches!(kind, Gatherv | Scatterv) {
            part(rank)
        } else {
            count
        },
        element: 4,
        counts: &counts,
        sent_counts: &sent_counts,
        sent_element: 4,
        ..Call::new(kind, rank, size)
    };
    match name {
        None => schedule(library, &call),
        Some(name) => {
            let mut steps = Steps::default();
            by(library, name, &call, &mut steps);
            steps.ops
        }
    }
}

/// What each process gets, after a check that each sends what the others post.
fn received(all: &[Vec<Op>], what: &str) -> Vec<Received> {
    let (mut sent, mut posted) = (
        vec![Received::new(); all.len()],
        vec![Received::new(); all.len()],
    );
    let mut open = 0;
    for (rank, ops) in all.iter().enumerate() {
        for op in ops {
            let (receiver, sender, bytes) = match *op {
                Op::Send { to, bytes } => (&mut sent[to as usize], rank, bytes),
                Op::Post { from, bytes } => {
                    open += 1;
                    (
                        &mut posted[rank],
                        from.map_or(usize::MAX, |from| from as usize),
                        bytes,
                    )
                }
                Op::Wait { leave } => {
                    open = open.min(leave);
                    continue;
                }
                Op::Kind(_) => continue,
            };
            *receiver.entry((sender, bytes)).or_default() += 1;
        }
        assert_eq!(open, 0, "rank {rank} waits for all: {what}");
    }
    let anonymous = |received: &Received| {
        let mut sizes = BTreeMap::<u64, u32>::new();
        received
            .iter()
            .for_each(|(&(_, bytes), times)| *sizes.entry(bytes).or_default() += times);
        sizes
    };
    for (sent, posted) in sent.iter().zip(&posted) {
        if posted.keys().any(|&(sender, _)| sender == usize::MAX) {
            assert_eq!(anonymous(sent), anonymous(posted), "{what}");
        } else {
            assert_eq!(sent, posted, "{what}");
        }
    }
    sent
}

fn text(all: &[Received]) -> String {
    let mut text = String::new();
    for (rank, received) in all
        .iter()
        .enumerate()
        .filter(|(_, received)| !received.is_empty())
    {
        let space = if text.is_empty() { "" } else { " " };
        write!(text, "{space}{rank}:").expect("a string");
        for (at, (&(from, bytes), &times)) in received.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let times = if times > 1 {
                format!("*{times}")
            } else {
                String::new()
            };
            write!(text, "{comma}{from}*{bytes}{times}").expect("a string");
        }
    }
    text
}

/// Compares all lines of a file; an operation may name its algorithm.
fn compare(library: Library, measured: &[u8], lines: usize) {
    let mut all = String::new();
    let mut reader = lzma_rust2::XzReader::new(measured, true);
    reader.read_to_string(&mut all).expect("a whole file");
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for line in all.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.splitn(5, ' ');
        let mut next = || words.next().expect("five words");
        let number = |word: &str| word.parse::<usize>().expect("a number");
        let (size, operation, count, root) = (number(next()), next(), number(next()), next());
        let (name, algorithm) = match operation.split_once('=') {
            Some((name, algorithm)) => (name, Some(algorithm)),
            None => (operation, None),
        };
        let kind = *CollectiveKind::ALL
            .iter()
            .find(|kind| kind.name() == name)
            .expect("a kind");
        let rooted = matches!(kind, Bcast | Reduce | Gather | Gatherv | Scatter | Scatterv);
        let root = if rooted { number(root) } else { 0 };
        let each = |rank| steps(library, algorithm, kind, count as u64, [rank, size, root]);
        let got = text(&received(&(0..size).map(each).collect::<Vec<_>>(), line));
        let expected = next();
        compared += 1;
        if got != expected {
            wrong.push(format!(
                "{size} {operation} {count} {root}\n sent {expected}\n made {got}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(compared, lines);
}

#[test]
fn messages_are_those_of_mpich() {
    compare(
        Library::Mpich,
        include_bytes!("measured/mpich-5.0.2.txt.xz"),
        1241,
    );
}

/// The table, and algorithms that the library would choose for more processes.
#[test]
fn messages_are_those_of_mvapich() {
    compare(
        Library::Mvapich,
        include_bytes!("measured/mvapich-4.0.txt.xz"),
        1015,
    );
}

#[test]
fn messages_are_those_of_open_mpi() {
    compare(
        Library::OpenMpi,
        include_bytes!("measured/openmpi-5.0.11.txt.xz"),
        1241,
    );
}

/// Algorithms that the library would choose for more processes.
#[test]
fn messages_are_those_of_forced_algorithms_of_open_mpi() {
    compare(
        Library::OpenMpi,
        include_bytes!("measured/openmpi-5.0.11-forced.txt.xz"),
        410,
    );
}
