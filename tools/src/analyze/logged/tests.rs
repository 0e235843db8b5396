use super::*;
use dpamatch::engine::Oracle;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

/// Two pieces of rank 1: the second repeats what the first left. One matched probe takes a message,
/// another finds none.
const PIECES: &[(&str, &str)] = &[
    (
        "rank-1-bb.0.events",
        "post,0,0,0,7,size=8,t=10\npost,1,0,*,*,size=8,t=20\narrive,0,0,0,7,bytes=4,t=30\n\
         # begin 1000\n# communicator 0: high bits 000000006, unknown 6\n# peer 0: aa\n# end\n",
    ),
    ("rank-1-bb.0.results", "matched,0,0\nposted,1\n"),
    (
        "rank-1-bb.1.events",
        "post,1,1,*,*,size=8,t=20\nmprobe,0,1,*,5\narrive,1,1,0,5,bytes=4,t=40\n\
         arrive,2,1,0,5,bytes=2,t=50\nmprobe,1,1,*,5\npost,9,1,0,5,t=60\ncancel,9\n\
         # begin 1000\n# protocol bits 0000000080000000\n\
         # communicator 0: high bits 000000009, user 4\n\
         # communicator 1: high bits 000000006, user 3\n# peer 0: aa\n# end\n",
    ),
    (
        "rank-1-bb.1.results",
        "mprobed,0,none\nmatched,1,1\nmprobed,1,2\ncancelled,9\n",
    ),
    (
        "rank-0-aa.0.events",
        "post,0,0,0,1,t=5\n# begin 900\n# peer 0: bb\n# end\n",
    ),
    ("rank-0-aa.0.results", "posted,0\n"),
];

/// A run has an entry for each rank up to the highest, so a name says 2^24 - 1 at most.
#[test]
fn a_log_has_a_rank_below_2_to_the_24() {
    for (rank, fits) in [(16_777_214, true), (16_777_215, true), (16_777_216, false)] {
        let names = ["events", "results"].map(|end| format!("rank-{rank}-aa.0.{end}"));
        let events = "post,0,0,0,1,t=5\n# begin 900\n# end\n";
        let folder = folder(&[(&names[0], events), (&names[1], "posted,0\n")]);
        let found = piece::processes(folder.path());
        let found = found
            .map(|all| all[0].rank)
            .map_err(|error| error.to_string());
        match fits {
            true => assert_eq!(found, Ok(rank)),
            false => {
                let said = found.expect_err("it is too high");
                assert!(said.ends_with("the rank is above 16777215"), "{said}");
            }
        }
    }
}

#[test]
fn pieces_become_one_order() {
    let folder = folder(PIECES);
    assert!(is_log(folder.path()));
    let run = Run::of_logs(folder.path()).expect("a run");
    let ranks: Vec<u32> = run.programs.iter().map(|program| program.rank).collect();
    assert_eq!(ranks, [0, 1]);
    let order = &run.recorded.as_ref().expect("orders")[1];
    let expected = [
        Happening::Post(0),
        Happening::Post(1),
        Happening::Arrive(0),
        Happening::Probe(2),
        Happening::Arrive(1),
        Happening::Arrive(2),
        // The matched probe that took a message.
        Happening::Post(3),
        Happening::Post(4),
        Happening::Cancel(4),
    ];
    assert_eq!(order.iter().collect::<Vec<_>>(), expected);
    assert_eq!((order.time_ns(0), order.time_ns(8)), (Some(110), Some(160)));
    let receives = run
        .view(1)
        .run(&mut Oracle::new(), order)
        .expect("an engine");
    assert_eq!(receives, [0, 1, 3]);
    let recorded: Vec<u32> = run.inbound[1]
        .iter()
        .map(|message| message.receive)
        .collect();
    assert_eq!(recorded, receives);
    assert_eq!(run.programs[1].transfers.at(4).end, End::Cancelled);
    // The peer is rank 0, so it sent three messages.
    assert!(
        run.inbound[1]
            .iter()
            .all(|message| (message.sender, message.source) == (0, 0))
    );
    let sends = run.programs[0]
        .transfers
        .iter()
        .filter(|it| it.kind == TransferKind::Send);
    assert_eq!(sends.count(), 3);
    // The bits identify the communicator, whatever its number in the piece.
    let comms: Vec<u32> = run.inbound[1].iter().map(|message| message.comm).collect();
    assert_eq!(comms[0], comms[1]);
    let comm = &run.comms.all[comms[0] as usize];
    assert_eq!((comm.name.as_str(), comm.number), ("user", 3));
}

/// A rank that was killed: its last lines are cut, and those before them count.
#[test]
fn a_cut_log_is_read_and_told() {
    let whole = Run::of_logs(folder(PIECES).path()).expect("a run");
    assert!(
        whole
            .programs
            .iter()
            .all(|program| program.salvaged.is_none())
    );
    let mut files = PIECES.to_vec();
    for (at, cut_at) in [(2, "t=50"), (3, ",1\nmprobed,1")] {
        let text = files[at].1;
        files[at].1 = &text[..text.find(cut_at).expect("the place")];
    }
    let run = Run::of_logs(folder(&files).path()).expect("a run");
    let lost = |rank: usize| run.programs[rank].salvaged.as_deref().unwrap_or("");
    assert_eq!(
        (lost(0), lost(1)),
        (
            "",
            "its order log was not closed, so the end may be missing"
        )
    );
    // Message 2 and the result of message 1 were in the cut lines.
    let receives: Vec<u32> = run.inbound[1]
        .iter()
        .map(|message| message.receive)
        .collect();
    assert_eq!((receives, run.truth[1].left), (vec![0, UNKNOWN], 1));
}

#[test]
fn a_wait_is_one_for_all_that_came_to_posted_receives() {
    let log = [
        (
            "rank-0-a.0.events",
            "post,0,0,1,1,t=0\npost,1,0,1,1,t=0\narrive,0,0,1,1,t=10\n\
          arrive,1,0,1,1,t=20\narrive,2,0,1,2,t=30\npost,2,0,1,2,t=40\npost,3,0,1,3,t=50\n\
          arrive,3,0,1,3,t=100\n# begin 1\n",
        ),
        (
            "rank-0-a.0.results",
            "matched,0,0\nmatched,1,1\nmatched,2,2\nmatched,3,3\n",
        ),
    ];
    let run = Run::of_logs(folder(&log).path()).expect("a run");
    let load = Load {
        receive_ns: vec![1000],
        delay_ns: 10_000,
        comm: None,
    };
    assert_eq!(
        run.ends(super::super::order::Network::default(), load),
        [100 + 4000 + 20_000]
    );
}

#[test]
fn what_is_wrong_is_named() {
    let (events, results) = (
        ("rank-0-a.0.events", "post,0,0,1,1\n"),
        "rank-0-a.0.results",
    );
    let cases: [(&[(&str, &str)], &str); 5] = [
        (&[events], "rank-0-a.0.results: No such file"),
        (&[events, (results, "matched,0\n")], "no result: matched,0"),
        (
            &[("rank-16777216-a.0.events", "")],
            "rank-16777216-a: the rank is above 16777215",
        ),
        (
            &[("rank-0-a.0.events", "post,0\n"), (results, "")],
            "line 1",
        ),
        (
            &[("rank-0-a.0.events", ""), (results, "")],
            "no order log with an event",
        ),
    ];
    for (files, words) in cases {
        let error = Run::of_logs(folder(files).path())
            .expect_err(words)
            .to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// Whatever the files say, there is a run or an error, and times never fall.
#[test]
fn changed_logs_are_read_or_refused() {
    let mut random = ChaCha8Rng::seed_from_u64(32);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..400 {
        let mut texts: Vec<Vec<u8>> = PIECES.iter().map(|(_, text)| (*text).into()).collect();
        for _ in 0..random.random_range(1..4) {
            let text = &mut texts[random.random_range(0..PIECES.len())];
            let at = random.random_range(0..text.len());
            let byte = b"0189abct,=*-#\n"[random.random_range(0..14)];
            match random.random_range(0..4) {
                0 => text.insert(at, byte),
                1 => text[at] = byte,
                2 => drop(text.drain(at..(at + 9).min(text.len() - 1))),
                _ => text.splice(at..at, [b'8'; 19]).for_each(drop),
            }
        }
        let texts: Vec<_> = texts
            .iter()
            .map(|text| String::from_utf8_lossy(text))
            .collect();
        let names = PIECES.iter().map(|(name, _)| *name);
        let files: Vec<_> = names.zip(texts.iter().map(AsRef::as_ref)).collect();
        let Ok(run) = Run::of_logs(folder(&files).path()) else {
            refused += 1;
            continue;
        };
        read += 1;
        for order in run.recorded.iter().flatten() {
            let times: Vec<_> = (0..order.len()).map(|at| order.time_ns(at)).collect();
            assert!(times.is_sorted() && !times.contains(&None), "{times:?}");
        }
        let load = Load {
            receive_ns: vec![3, 5],
            delay_ns: 7,
            comm: None,
        };
        assert_eq!(
            run.ends(super::super::order::Network::default(), load)
                .len(),
            2
        );
    }
    assert!(read > 50 && refused > 50, "{read} read, {refused} refused");
}
