//! A run of three ranks, small enough to count everything by hand: all files and figures of its
//! report, number by number.
//!
//! Rank 0 sends to rank 1 and once to rank 2. The events at rank 1, in nanoseconds, with the
//! steps of each search in one bin and the length of the queue that it meets:
//!
//! | time | event | posted queue | unexpected queue |
//! |---|---|---|---|
//! | 10, 20, 30 | receives A, B (tag 1), C (tag 2) are posted | | 0 of 0 each |
//! | 40 | tag 2 finds C, behind A and B | 3 of 3 | |
//! | 50 | tag 1 finds A | 1 of 2 | |
//! | 60, 70 | tag 3, twice: both wait | 1 of 1 each | |
//! | 75 | a probe for tag 3 | | 1 of 2 |
//! | 80 | receive D (tag 3) finds the first | | 1 of 2 |
//! | 90 | receive E (any source, tag 3) the other | | 1 of 1 |
//! | 100 | tag 1 finds B | 1 of 1 | |
//! | 110, 111 | receive F (tag 2) is posted and cancelled | | 0 of 0 |
//! | 120 | receive G (tag 9) is posted, and is left | | 0 of 0 |
//! | 130 | tag 7 waits, and is left | 1 of 1 | |
//!
//! The clocks are 1000 ahead. Rank 2 posts its receive at 0 and finds the message at 45: 1 of 1.

use super::by_hand::{program, question, receive, send};
use super::program::{End, Kind, NOBODY, Program, Transfer, UNKNOWN};
use super::stats::{BlockStats, COLUMNS};
use super::{OrderChoice, Report, Run, by_rank, figures};
use crate::table::Cell;
use crate::trace::Function;
use dpamatch::engine::BinCount;

/// Sets the times of the program's steps, and numbers its calls.
fn at(times: &[i64], mut program: Program) -> Program {
    assert_eq!(program.steps.len(), times.len());
    (program.steps.iter_mut().zip(times)).for_each(|(step, &at_ns)| step.at_ns = 1000 + at_ns);
    let numbered = (10..).zip(&mut program.transfers);
    numbered.for_each(|(number, transfer)| transfer.call = number);
    program
}

fn run() -> Run {
    let sent = |to, tag, bytes| Transfer { bytes, ..send(to, tag) };
    let sends = [
        sent(1, 2, 4),
        sent(2, 1, 8),
        sent(1, 1, 4),
        sent(1, 3, 100),
        sent(1, 3, UNKNOWN),
        sent(1, 1, 4),
        sent(1, 7, 2),
        Transfer { kind: Kind::Null, ..send(NOBODY, 0) },
    ];
    let exact = |tag| receive(0, tag, End::Ignored);
    let receives = [
        exact(1),
        exact(1),
        exact(2),
        Transfer { kind: Kind::Probe, ..exact(3) },
        Transfer { bytes: 200, ..exact(3) },
        receive(-1, 3, End::Ignored),
        receive(0, 2, End::Cancelled),
        receive(0, 9, End::Pending),
    ];
    let lone = Transfer { bytes: 8, ..exact(1) };
    let mut receiver = at(&[10, 20, 30, 75, 80, 90, 110, 111, 120], program(1, &receives));
    for (name, times) in [
        ("MPI_Irecv", 6),
        ("MPI_Barrier", 2),
        ("MPI_Put", 1),
        ("MPI_Wait", 3),
        ("MPI_Comm_rank", 4),
    ] {
        receiver.calls.add(Function::from_name(name).expect("a function"), times);
    }
    let sender = at(&[40, 45, 50, 60, 70, 100, 130, 140], program(0, &sends));
    let programs = vec![sender, receiver, at(&[0], program(2, &[lone]))];
    Run::new(programs, Some(3))
}

/// The report in the order of the clocks, for 1 and 64 bins.
pub(super) fn report() -> Report {
    let mut question = question(OrderChoice::Time);
    question.plan.bins = [1, 64].map(|bins| BinCount::new(bins).expect("a number")).to_vec();
    question.plan.handlers = Vec::new();
    let report = Report::make(&run(), &question, |_| ()).expect("a report");
    assert_eq!(report.checked, Some(Vec::new()), "legal pairs");
    report
}

fn lines(report: &Report, table: &str, beginning: &str) -> Vec<String> {
    let tables = by_rank(report);
    let table = tables.iter().find(|known| known.name == table).expect("a table");
    let cell = |cell: &Cell| match cell {
        Cell::Text(text) => text.clone(),
        Cell::Count(count) => count.to_string(),
        Cell::Real(number) => format!("{number:.4}"),
        Cell::None => String::new(),
    };
    let line = |row: &Vec<Cell>| row.iter().map(cell).collect::<Vec<_>>().join(",");
    table.rows.iter().map(line).filter(|line| line.starts_with(beginning)).collect()
}

fn each(report: &Report, table: &str) -> Vec<String> {
    lines(report, table, "")
}

#[test]
fn calls_and_messages_are_counted() {
    let report = report();
    assert_eq!(
        each(&report, "calls"),
        ["all,6,2,1,3,4", "0,0,0,0,0,0", "1,6,2,1,3,4", "2,0,0,0,0,0"]
    );
    let percent = report.application.shares.percent().map(|share| (share * 9.0).round() as u32);
    assert_eq!(percent, [600, 200, 100]);
    // Sends, bytes, receives by wildcard, probes, null, cancels, expected, unexpected, left.
    assert_eq!(
        each(&report, "traffic"),
        [
            "all,7,122,7,1,0,0,1,1,1,4,3,1,1",
            "0,7,122,0,0,0,0,0,1,0,0,0,0,0",
            "1,0,0,6,1,0,0,1,0,1,3,3,1,1",
            "2,0,0,1,0,0,0,0,0,0,1,0,0,0",
        ]
    );
}

/// Searches, hits, steps, ASL, MASL, most steps, AQL, MQL, collisions.
#[test]
fn searches_are_counted() {
    let report = report();
    let of_bins = |rank: &str, bins: &str| {
        let rows = lines(&report, "queues", &format!("{rank},")).into_iter();
        rows.filter(|row| row.split(',').nth(2) == Some(bins)).collect::<Vec<_>>()
    };
    let one_bin = |rank: &str| of_bins(rank, "1");
    assert_eq!(
        one_bin("1"),
        [
            "1,posted,1,6,3,8,1.3333,1.3333,3,1.5000,3,2",
            "1,unexpected,1,8,3,3,0.3750,0.3750,1,0.6250,2,1",
        ]
    );
    assert_eq!(
        one_bin("2"),
        [
            "2,posted,1,1,1,1,1.0000,1.0000,1,1.0000,1,0",
            "2,unexpected,1,1,0,0,0.0000,0.0000,0,0.0000,0,0",
        ]
    );
    // 9 steps in 7 searches, 10 entries seen; 3 steps in 9 searches, 5 entries seen.
    assert_eq!(
        one_bin("all"),
        [
            "all,posted,1,7,4,9,1.2857,1.3333,3,1.4286,3,2",
            "all,unexpected,1,9,3,3,0.3333,0.3750,1,0.5556,2,1",
        ]
    );
    // With many bins only A and B share one, and no search meets another key.
    assert_eq!(
        of_bins("all", "64"),
        [
            "all,posted,64,7,4,4,0.5714,1.0000,1,1.4286,3,1",
            "all,unexpected,64,9,3,3,0.3333,0.3750,1,0.5556,2,1",
        ]
    );
}

/// Insertions, collisions, longest chain and its mean over the samples, minimum and mean share of
/// empty bins, mean and maximum depth. A sample precedes each of the 15 events of rank 1 and the 2
/// of rank 2.
#[test]
fn tables_are_looked_at() {
    let report = report();
    let of = |beginning: &str| lines(&report, "tables", beginning);
    // Chains of 0, 1, 2, 3, 2, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1.
    assert_eq!(of("1,1,no"), ["1,1,no_wildcard,5,2,3,1.0667,0.0000,0.2000,0.2667,2"]);
    assert_eq!(of("2,1,no"), ["2,1,no_wildcard,1,0,1,0.5000,0.0000,0.5000,0.0000,0"]);
    assert_eq!(of("all,1,no"), ["all,1,no_wildcard,6,2,3,1.0000,0.0000,0.2353,0.2353,2"]);
    // A and B share a bin: 0, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1; at most two are taken.
    assert_eq!(of("1,64,no"), ["1,64,no_wildcard,5,1,2,1.0000,0.9688,0.9865,0.2000,1"]);
    assert_eq!(of("all,64,no"), ["all,64,no_wildcard,6,1,2,0.9412,0.9688,0.9871,0.1765,1"]);
    // E finds its message at once, so it never waits.
    assert_eq!(of("1,1,any_s"), ["1,1,any_source,0,0,0,0.0000,1.0000,1.0000,0.2667,2"]);
}

/// Uses, distinct keys, their share, most frequent key, longest and mean chain; tags and the
/// highest; sequences with mean, maximum and receives in runs of at least two.
#[test]
fn keys_and_sequences_are_counted() {
    let report = report();
    assert_eq!(
        each(&report, "keys"),
        [
            "all,receives,8,6,0.7500,2,2,0.8333,4,7,7,1.1429,2,2",
            "all,messages,7,5,0.7143,2,2,0.6000,4,7,7,1.1429,2,2",
            "0,receives,0,0,0.0000,0,0,0.0000,0,,0,0.0000,0,0",
            "0,messages,0,0,0.0000,0,0,0.0000,0,,0,0.0000,0,0",
            "1,receives,7,5,0.7143,2,2,0.8000,4,7,6,1.1667,2,2",
            "1,messages,6,4,0.6667,2,2,0.7500,4,7,6,1.1667,2,2",
            "2,receives,1,1,1.0000,1,1,1.0000,1,1,1,1.0000,1,0",
            "2,messages,1,1,1.0000,1,0,0.0000,1,1,1,1.0000,1,0",
        ]
    );
}

#[test]
fn needs_and_communicators_are_counted() {
    let report = report();
    assert_eq!(
        each(&report, "needs"),
        ["all,3,2,100,1,1,,,,,,", "0,0,0,0,0,0,,,,,,", "1,3,2,100,1,1,,,,,,", "2,1,0,0,0,1,,,,,,"]
    );
    assert_eq!(
        each(&report, "communicators"),
        ["by hand,2,world,0,3,exact,7,122,8,1,1,0,0,1,1,4,3,1,1,3,2,7,1.1429,2,7,1.2857,1.3333,\
              1.4286,9,0.3333,0.3750,0.5556"]
    );
    // D's capacity exceeds its message, and the size for E is unknown. A and D had a choice of
    // partners; E has a wildcard.
    assert_eq!(
        each(&report, "hints"),
        [
            "0,world,mpi_assert_no_any_source,1,0,1,15,MPI_Send",
            "0,world,mpi_assert_no_any_tag,0,0,,,",
            "0,world,mpi_assert_exact_length,1,1,1,14,MPI_Send",
            "0,world,mpi_assert_allow_overtaking,3,0,1,10,MPI_Send",
        ]
    );
    assert_eq!(
        each(&report, "unmatched"),
        [
            "1,receive,17,communicator 2, source 0, tag 9,no call completes it; the nearest \
             unmatched message is from rank 0 (communicator 2, source 0, tag 7) and differs in tag",
            "1,message,16,from rank 0: communicator 2, source 0, tag 7,no receive accepts it; \
             the nearest waiting receive is of call 17 (communicator 2, source 0, tag 9) and differs \
             in tag",
        ]
    );
}

/// Runs of columns of equal depth, each 1.3 ns wide: (columns, depth).
fn columns(runs: &[(usize, u32)]) -> Vec<u32> {
    let all: Vec<u32> = runs.iter().flat_map(|&(length, depth)| vec![depth; length]).collect();
    assert_eq!(all.len(), COLUMNS);
    all
}

/// Each column has the maximum length of a queue. 10 ns is column 7, 20 ns is column 15.
#[test]
fn depths_stand_in_their_columns() {
    let report = report();
    assert_eq!(report.end_ns, 130);
    let [_, receiver, lone] = &report.ranks[..] else { panic!("three ranks") };
    let posted =
        columns(&[(7, 0), (8, 1), (8, 2), (8, 3), (8, 2), (38, 1), (7, 0), (2, 1), (6, 0), (8, 1)]);
    let unexpected = columns(&[(46, 0), (7, 1), (9, 2), (8, 1), (29, 0), (1, 1)]);
    assert_eq!(receiver.totals.depths.posted, posted);
    assert_eq!(receiver.totals.depths.unexpected, unexpected);
    assert_eq!(lone.totals.depths.posted, columns(&[(35, 1), (65, 0)]));
    let [first, .., last] = &lines(&report, "depth", "1,")[..] else { panic!("columns") };
    assert_eq!((first.as_str(), last.as_str()), ("1,0,1,0,0", "1,99,130,1,1"));

    let figures = figures::of_application(&report);
    let figure = |name: &str| {
        let (_, figure) = figures.iter().find(|figure| figure.0 == name).expect("a figure");
        figure.csv()
    };
    let depth = figure("figure-depth");
    // At column 30 three receives wait at rank 1 and one at rank 2; rank 0 has none.
    for line in [
        "Posted receives,highest rank,0,1",
        "Posted receives,mean over ranks,0,0.3333333333333333",
        "Posted receives,highest rank,30,3",
        "Posted receives,mean over ranks,30,1.3333333333333333",
        "Unexpected messages,highest rank,61,2",
        "Unexpected messages,mean over ranks,61,0.6666666666666666",
    ] {
        assert!(depth.lines().any(|found| found == line), "{line}");
    }
    let ranks = figure("figure-ranks");
    let row = |panel: &str, rank: u32| {
        let beginning = format!("{panel},{rank},");
        let rows = ranks.lines().filter_map(|line| line.strip_prefix(&beginning));
        rows.map(|cell| cell.to_owned()).collect::<Vec<_>>()
    };
    let cells = |most: [u32; 25]| {
        let percent = (1..=25).map(|column| column * 4);
        percent.zip(most).map(|(percent, most)| format!("{percent},{most}")).collect::<Vec<_>>()
    };
    assert_eq!(
        row("Posted receives", 1),
        cells([0, 1, 1, 2, 2, 3, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 1])
    );
    assert_eq!(
        row("Unexpected messages", 1),
        cells([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 1, 1, 0, 0, 0, 0, 0, 0, 1])
    );
}

fn numbers(figure: &crate::figure::Figure) -> Vec<String> {
    figure.csv().lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn figures_show_the_same_numbers() {
    let mut report = report();
    // Ten messages in blocks of four; two never had a candidate.
    report.application.blocks = vec![BlockStats {
        handlers: 4,
        messages: 10,
        clean: 5,
        fast: 2,
        slow: 1,
        ..BlockStats::default()
    }];
    let all = figures::of_application(&report);
    let figure = |name: &str| {
        let (_, figure) = all.iter().find(|figure| figure.0 == name).expect("a figure");
        numbers(figure)
    };
    assert_eq!(
        figure("figure-calls"),
        [
            "Communication calls,point-to-point,by hand,66.66666666666667",
            "Communication calls,collective,by hand,22.22222222222222",
            "Communication calls,one-sided,by hand,11.11111111111111",
            "All calls,point-to-point,by hand,37.5",
            "All calls,collective,by hand,12.5",
            "All calls,one-sided,by hand,6.25",
            "All calls,progress,by hand,18.75",
            "All calls,other,by hand,25",
        ]
    );
    let rounded = |name: &str| {
        let round = |line: String| {
            let (before, value) = line.rsplit_once(',').expect("a value");
            format!("{before},{:.4}", value.parse::<f64>().expect("a number"))
        };
        figure(name).into_iter().map(round).collect::<Vec<_>>()
    };
    assert_eq!(
        rounded("figure-tables"),
        [
            "Collisions,by hand,1,33.3333",
            "Collisions,by hand,64,16.6667",
            "\"Empty bins, table without wildcards\",by hand,1,23.5294",
            "\"Empty bins, table without wildcards\",by hand,64,98.7132",
            "Search of posted receives,by hand,1,1.2857",
            "Search of posted receives,by hand,64,0.5714",
            "Search of unexpected messages,by hand,1,0.3333",
            "Search of unexpected messages,by hand,64,0.3333",
        ]
    );
    assert_eq!(
        rounded("figure-messages"),
        [
            "All ranks,expected,by hand,57.1429",
            "All ranks,unexpected,by hand,42.8571",
            "By rank,unexpected,0,0.0000",
            "By rank,unexpected,1,50.0000",
            "By rank,unexpected,2,0.0000",
        ]
    );
    let paths = ["clean,4,50", "fast,4,20", "slow,4,10", "no candidate,4,20"];
    assert_eq!(figure("figure-paths"), paths.map(|path| format!("Paths of the messages,{path}")));
}

/// Several applications appear in falling order of mean depth with the first number of bins, with a
/// mean. The published analyzer's depth comes from the trace.
#[test]
fn applications_stand_side_by_side() {
    let (mut first, mut second) = (report(), report());
    (first.name, second.name) = ("less".to_owned(), "more".to_owned());
    let depth = |report: &mut Report, bins: usize, sum, samples, most, never| {
        let tables = &mut report.application.bins[bins].tables;
        (tables.depth_sum, tables.samples, tables.depth_max) = (sum, samples, most);
        report.lifetime[bins].depth_average = never;
    };
    depth(&mut first, 0, 10, 10, 4, 7.0);
    depth(&mut first, 1, 9, 10, 3, 5.0);
    depth(&mut second, 0, 30, 10, 6, 9.0);
    depth(&mut second, 1, 1, 10, 2, 3.0);
    let all = figures::over_applications(&[&first, &second]);
    let (_, bins) = all.iter().find(|figure| figure.0 == "figure-bins").expect("a figure");
    assert_eq!(
        numbers(bins),
        [
            "Mean depth,1 bin,more,3",
            "Mean depth,1 bin,less,1",
            "Mean depth,1 bin,mean,2",
            "Mean depth,64 bins,more,0.1",
            "Mean depth,64 bins,less,0.9",
            "Mean depth,64 bins,mean,0.5",
            "Maximum depth,1 bin,more,6",
            "Maximum depth,1 bin,less,4",
            "Maximum depth,1 bin,mean,5",
            "Maximum depth,64 bins,more,2",
            "Maximum depth,64 bins,less,3",
            "Maximum depth,64 bins,mean,2.5",
            "Mean depth if no receive is matched,1 bin,more,9",
            "Mean depth if no receive is matched,1 bin,less,7",
            "Mean depth if no receive is matched,1 bin,mean,8",
            "Mean depth if no receive is matched,64 bins,more,3",
            "Mean depth if no receive is matched,64 bins,less,5",
            "Mean depth if no receive is matched,64 bins,mean,4",
        ]
    );
    let names: Vec<_> = all.iter().map(|&(name, _)| name).collect();
    assert_eq!(names, ["figure-calls", "figure-bins", "figure-tables"]);
}

/// With more than 64 ranks, a row is the maximum of two ranks.
#[test]
fn many_ranks_share_rows() {
    let posts: Vec<_> = (0..3).map(|tag| receive(0, tag, End::Pending)).collect();
    let ranks = |rank: u32| program(rank, if rank == 3 { &posts } else { &[] });
    let heat = |processes: u32| {
        let run = Run::new((0..processes).map(ranks).collect(), Some(processes));
        let mut question = question(OrderChoice::PostsFirst);
        question.plan.handlers = Vec::new();
        let report = Report::make(&run, &question, |_| ()).expect("a report");
        let all = figures::of_application(&report);
        let (_, figure) = all.iter().find(|figure| figure.0 == "figure-ranks").expect("a figure");
        let last = numbers(figure).into_iter().filter(|line| {
            line.starts_with("Posted") && line.contains(",100,") && !line.ends_with(",0")
        });
        (figure.csv().lines().count(), last.collect::<Vec<_>>())
    };
    assert_eq!(heat(64), (1 + 2 * 25 * 64, vec!["Posted receives,3,100,3".to_owned()]));
    assert_eq!(heat(65), (1 + 2 * 25 * 33, vec!["Posted receives,2-3,100,3".to_owned()]));
}
