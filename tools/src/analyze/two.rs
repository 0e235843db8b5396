//! Two of everything, unlike: runs in one set of tables, communicators with equal tags, wildcards,
//! sizes, ranks that have nothing to do with each other.

use std::collections::BTreeMap;

use super::by_hand::{counted, question, report};
use super::{OrderChoice, Report, Run, by_rank, legality, pairs, programs_of_text, tables};
use dpamatch::engine::Oracle;

fn run(text: &str, processes: u32) -> Run {
    let (programs, claims) = programs_of_text(text.lines());
    assert!(claims.is_empty(), "{claims:?}");
    Run::new(programs, Some(processes))
}

/// Rows of tables, by table and by their first cell.
fn rows(tables: &[crate::table::Table]) -> BTreeMap<(String, String), Vec<String>> {
    let mut all: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for table in tables {
        for line in table.csv().lines().skip(1) {
            let (first, rest) = line.split_once(',').unwrap_or((line, ""));
            let key = (table.name.clone(), first.to_owned());
            all.entry(key).or_default().push(rest.to_owned());
        }
    }
    all
}

/// Three communicators with equal tags, and receives of all kinds of wildcards and of unlike sizes
/// in another order than that of the messages: each message has the receive of its communicator,
/// in every interleaving.
#[test]
fn communicators_with_equal_tags_do_not_meet() {
    let run = run(
        "0,1,2 MPI_Comm_dup oldcomm=2 newcomm=4\n\
         0,1,2 MPI_Comm_dup oldcomm=2 newcomm=5\n\
         1 MPI_Irecv count=11 datatype=2 source=-1 tag=5 comm=4 request=10\n\
         1 MPI_Irecv count=12 datatype=2 source=-1 tag=-1 comm=5 request=11\n\
         1 MPI_Irecv count=13 datatype=2 source=0 tag=5 comm=5 request=12\n\
         1 MPI_Irecv count=14 datatype=2 source=2 tag=-1 comm=4 request=13\n\
         1 MPI_Irecv count=15 datatype=2 source=0 tag=5 comm=2 request=14\n\
         1 MPI_Waitall count=5 requests=(10,11,12,13,14) \
         statuses={0:5:1,2:5:2,0:5:3,2:5:4,0:5:5}\n\
         0 MPI_Send count=3 datatype=2 dest=1 tag=5 comm=5\n\
         0 MPI_Send count=1 datatype=2 dest=1 tag=5 comm=4\n\
         0 MPI_Send count=5 datatype=2 dest=1 tag=5 comm=2\n\
         2 MPI_Send count=4 datatype=2 dest=1 tag=5 comm=4\n\
         2 MPI_Send count=2 datatype=2 dest=1 tag=5 comm=5\n\
         2 MPI_Recv count=6 datatype=2 source=-1 tag=-1 comm=5 status={1:5:6}\n\
         1 MPI_Send count=7 datatype=2 dest=2 tag=5 comm=4\n\
         1 MPI_Send count=6 datatype=2 dest=2 tag=5 comm=5\n\
         2 MPI_Recv count=7 datatype=2 source=1 tag=5 comm=4 status={1:5:7}\n",
        3,
    );
    let expected = "\
comm,recv_rank,recv_op,send_rank,send_op,tag,bytes,posted_src,posted_tag
2,1,4,0,2,5,5,0,5
4,1,0,0,1,5,1,-1,5
4,2,3,1,5,5,7,1,5
4,1,3,2,0,5,4,2,-1
5,1,2,0,0,5,3,0,5
5,2,2,1,6,5,6,-1,-1
5,1,1,2,1,5,2,-1,-1
";
    let random = (0..20).map(|seed| OrderChoice::Random { seed });
    let guided = [OrderChoice::PostsFirst, OrderChoice::ArrivalsFirst];
    for choice in guided.into_iter().chain(random) {
        let orders = run.guided(choice);
        let replay = |at: usize| {
            let (view, order) = (run.view(at), &orders[at]);
            let receives = view.run(&mut Oracle::new(), order).expect("an engine");
            assert_eq!(
                legality::check(view, order, &receives),
                Ok(()),
                "{choice:?}"
            );
            receives
        };
        let receives: Vec<_> = (0..3).map(replay).collect();
        let mut told = Vec::new();
        pairs(&run, &receives, &mut told).expect("room");
        assert_eq!(String::from_utf8_lossy(&told), expected, "{choice:?}");
    }
}

/// The calls of ranks `base` and `base + 1`. The first sends `messages` messages of `bytes` bytes,
/// and the second receives them in turn.
fn pair(base: u32, messages: u32, bytes: u32, is_late: bool) -> String {
    let (from, to) = (base, base + 1);
    let mut text = String::new();
    for tag in 0..messages {
        let send = format!("{from} MPI_Send count={bytes} datatype=2 dest={to} tag={tag} comm=2\n");
        let tag = if is_late { messages - 1 - tag } else { tag };
        let status = format!("{{{from}:{tag}:{bytes}}}");
        text += &send;
        text += &format!(
            "{to} MPI_Recv count={} datatype=2 source={from} tag={tag} comm=2 status={status}\n",
            bytes + 1
        );
    }
    text
}

/// Two pairs of ranks that know nothing of each other, in one run: each rank has the numbers that
/// it has without the other pair.
#[test]
fn ranks_that_do_not_meet_have_their_own_numbers() {
    let told =
        |text: &str, processes| by_rank(&report(&run(text, processes), OrderChoice::PostsFirst));
    let one = told(&pair(0, 3, 7, true), 2);
    let other = told(&pair(0, 5, 11, false), 2);
    let both = told(&(pair(0, 3, 7, true) + &pair(2, 5, 11, false)), 4);
    let (one, other, both) = (rows(&one), rows(&other), rows(&both));
    let mut compared = 0;
    for ((table, rank), rows) in &both {
        let alone = match rank.as_str() {
            "0" | "1" => one.get(&(table.clone(), rank.clone())),
            "2" => other.get(&(table.clone(), "0".to_owned())),
            "3" => other.get(&(table.clone(), "1".to_owned())),
            _ => continue,
        };
        // The bins of a source depend on its number.
        if ["calls", "traffic", "sizes", "needs", "queues"].contains(&table.as_str()) {
            assert_eq!(Some(rows), alone, "{table}, rank {rank}");
            compared += 1;
        }
    }
    assert!(compared >= 16, "{compared}");
}

/// Two applications in one set of tables have the rows that each has in its own.
#[test]
fn two_runs_in_one_set_of_tables_share_nothing() {
    let of = |name: &str, run: &Run| {
        let mut question = question(OrderChoice::PostsFirst);
        question.name = name.to_owned();
        Report::make(run, &question, |_| ()).expect("a report")
    };
    let first = of("first", &run(&pair(0, 3, 7, true), 2));
    let second = of(
        "second",
        &run(&(pair(0, 5, 11, false) + &pair(2, 2, 90, true)), 4),
    );
    let third = counted();
    let all = rows(&tables(&[&first, &second, &third]));
    for report in [&first, &second, &third] {
        let alone = rows(&tables(&[report]));
        assert!(alone.keys().any(|(_, name)| *name == report.name));
        for (key, rows) in alone {
            assert_eq!(all.get(&key), Some(&rows), "{key:?}");
        }
    }
    let names = [&first.name, &second.name, &third.name];
    assert!(all.keys().all(|(_, name)| names.contains(&name)), "{all:?}");
}
