//! Two of everything, unlike, in one process: readers that take turns, runs side by side in a
//! folder, and what is left of a run when one of its files is broken.

use std::fs;
use std::path::{Path, PathBuf};

use dpamatch_traces::{
    Op, OpenOptions, Rank, RankReader, Region, Salvage, TextReader, TraceError, TraceSource,
};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/traces")
        .join(name)
}

fn rank(number: u32) -> Rank {
    Rank::new(number).expect("a rank")
}

fn open(path: &Path) -> Box<dyn TraceSource> {
    dpamatch_traces::open(path, &OpenOptions::default()).expect("a trace")
}

/// The next call with all that it says, its arguments included.
fn step(reader: &mut dyn RankReader) -> Option<String> {
    let call = reader.next_call().expect("a good trace");
    let told = call.map(|call| format!("{call:?}"));
    told.map(|told| format!("{told} {:?}", reader.arguments()))
}

/// What a reader says besides its calls.
fn about(reader: &dyn RankReader) -> String {
    format!("{:?} {:?}", reader.info(), reader.unread())
}

fn whole(source: &dyn TraceSource, rank: Rank) -> (Vec<String>, String) {
    let mut reader = source.open(rank).expect("a rank");
    let calls = std::iter::from_fn(|| step(&mut *reader)).collect();
    (calls, about(&*reader))
}

/// A GOAL text whose ranks differ in all that a rank can say.
const GOAL: &str = "num_ranks 2\nrank 0 {\na: send 9b to 1 tag 4\nb: recv 8b from 1 tag 3\n\
                    calc 70\nb requires a\n}\nrank 1 {\nrecv 10b from -1 tag -1 cpu 2\n\
                    send 11b to 0 tag 5 nic 1\nc: calc 20\nd: send 12b to 0\nd requires c\n}\n";

/// Two ranks of each of several runs, of every format, read call by call in turn: each reader says
/// what it says alone, and the same rank twice says the same.
#[test]
fn readers_that_take_turns_do_not_meet() {
    let folder = tempfile::tempdir().expect("a folder");
    let goal = folder.path().join("two.goal");
    fs::write(&goal, GOAL).expect("room");
    let paths = [
        data("edge-4-mpich"),
        data("edge-4-openmpi"),
        data("edge-4-mpich/rank-0001.txt.xz"),
        data("counted-by-hand"),
        data("recorder/halo-2.dumpi.tar.xz"),
        data("otf2"),
        goal,
    ];
    let sources = paths.map(|path| open(&path));
    let ranks_of =
        |source: &'_ dyn TraceSource| source.ranks()[..source.ranks().len().min(2)].to_vec();
    let all: Vec<_> = sources
        .iter()
        .flat_map(|source| {
            ranks_of(&**source)
                .into_iter()
                .map(move |rank| (source, rank))
        })
        .collect();
    let alone: Vec<_> = all
        .iter()
        .map(|(source, rank)| whole(&***source, *rank))
        .collect();
    let differ = |at: usize, other: usize| alone[at].0 != alone[other].0;
    assert!((1..all.len()).all(|at| (0..at).all(|other| differ(at, other))));
    let mut turns: Vec<_> = [&all[..], &all[..]]
        .concat()
        .into_iter()
        .map(|(source, rank)| (source.open(rank).expect("a rank"), Vec::new()))
        .collect();
    let mut goes_on = true;
    while goes_on {
        goes_on = false;
        for (reader, calls) in &mut turns {
            let call = step(&mut **reader);
            goes_on |= call.is_some();
            calls.extend(call);
        }
    }
    for (at, (reader, calls)) in turns.iter().enumerate() {
        let (source, rank) = all[at % all.len()];
        let (expected, told) = &alone[at % all.len()];
        assert_eq!(
            (calls, &about(&**reader)),
            (expected, told),
            "{rank:?} of {source:?}"
        );
        assert_eq!(reader.info().rank, rank);
    }
}

/// The text of a call, with times that differ in all their parts.
fn call(name: &str, thread: u16, times: [&str; 4], arguments: &str) -> String {
    let [wall, cpu, later, cpu_later] = times;
    format!(
        "{name} entering at walltime {wall}, cputime {cpu} seconds in thread {thread}.\n{arguments}\
         {name} returning at walltime {later}, cputime {cpu_later} seconds in thread {thread}.\n"
    )
}

/// Two threads, clocks, communicators, datatypes and requests in one text, each with its own value.
#[test]
fn two_calls_of_a_text_share_nothing() {
    let isend = "int count=3\nMPI_Datatype datatype=9 (MPI_INT)\nint dest=5\nint tag=7\n\
                 MPI_Comm comm=4 (user)\nMPI_Request request=[11]\n";
    let irecv = "int count=30\nMPI_Datatype datatype=14 (MPI_DOUBLE)\nint source=50\nint tag=70\n\
                 MPI_Comm comm=40 (user)\nMPI_Request request=[110]\n";
    let first = [
        "1400000001.000000001",
        "2.000000002",
        "1400000003.000000003",
        "4.000000004",
    ];
    let second = [
        "1400000005.000000005",
        "6.000000006",
        "1400000007.000000007",
        "8.000000008",
    ];
    let text = [
        "version=1.2.3\nhostname=one\n".to_owned(),
        call("MPI_Isend", 17, first, isend),
        call("MPI_Irecv", 71, second, irecv),
        "MPI_Isend called 4 times and ignored 3 times\nMPI_Irecv called 2 times and ignored 1 times\n\
         Datatype 9 (MPI_INT) has size 5\nDatatype 14 (MPI_DOUBLE) has size 6\n"
            .to_owned(),
    ]
    .concat();
    let input = Box::new(std::io::Cursor::new(text.clone().into_bytes()));
    let mut reader = TextReader::new("two.txt", input, rank(3), false);
    let mut told = String::new();
    while let Some(call) = reader.next_call().expect("a good text") {
        let spans = [call.wall, call.cpu].map(|span| span.map(|it| (it.entry_ns, it.return_ns)));
        let what = match call.op {
            Op::Isend { send, request } => format!(
                "{:?} {request:?}",
                (send.dest, send.tag, send.comm, send.payload)
            ),
            Op::Irecv { recv, request } => format!(
                "{:?} {request:?}",
                (recv.source, recv.tag, recv.comm, recv.room)
            ),
            other => format!("{other:?}"),
        };
        told += &format!(
            "{} {} {:?} {spans:?} {what}\n",
            call.sequence, call.function, call.thread
        );
    }
    let expected = "\
0 MPI_Isend Some(17) [Some((1400000001000000001, 1400000003000000003)), Some((2000000002, 4000000004))] \
(Rank(Rank(5)), Tag(7), Comm(4), Payload { count: 3, datatype: Datatype(9) }) Request(11)
1 MPI_Irecv Some(71) [Some((1400000005000000005, 1400000007000000007)), Some((6000000006, 8000000008))] \
(Rank(Rank(50)), Tag(Tag(70)), Comm(40), Payload { count: 30, datatype: Datatype(14) }) Request(110)
";
    assert_eq!(told, expected);
    let info = reader.info();
    let footer = info.footer.as_ref().expect("it has one");
    let counts = |counts: &dpamatch_traces::Counts| -> Vec<_> {
        counts
            .iter()
            .map(|(function, times)| (function.name(), times))
            .collect()
    };
    assert_eq!(counts(&footer.called), [("MPI_Isend", 4), ("MPI_Irecv", 2)]);
    assert_eq!(
        counts(&footer.ignored),
        [("MPI_Isend", 3), ("MPI_Irecv", 1)]
    );
    assert_eq!([9, 14, 8].map(|it| info.sizes.recorded()[it]), [5, 6, 0]);
    assert_eq!(
        (
            info.rank,
            info.version,
            info.hostname.as_deref(),
            info.start_s,
            info.bytes
        ),
        (rank(3), Some([1, 2, 3]), Some("one"), None, None)
    );
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("room");
}

/// The text of a rank with one call, which says its number, and its version.
fn numbered(number: u32) -> String {
    let zero = ["0.000000000"; 4];
    let size = format!("MPI_Comm comm=2 (MPI_COMM_WORLD)\nint size={number}\n");
    format!(
        "version=1.0.{number}\n{}",
        call("MPI_Comm_size", 0, zero, &size)
    )
}

/// Two runs of two ranks in one folder: each has its own ranks, description, notes and call sites.
#[test]
fn two_runs_in_one_folder_share_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path();
    for (run, name, processes, start) in [(1, "a", 2, 100), (2, "b", 7, 200)] {
        let meta = format!(
            "hostname=host-{name}\nnumprocs={processes}\nstartime={start}\nnote=of {name}\n"
        );
        write(place, &format!("{name}.meta"), &meta);
        for number in [0, 3] {
            let own = 10 * run + number;
            write(place, &format!("{name}-000{number}.txt"), &numbered(own));
            let sites =
                format!("dpamatch call sites 1\nobject 0 /{own}\nsite 0 0 {own}\ncall 0 0\n");
            write(place, &format!("{name}-000{number}.sites"), &sites);
        }
    }
    for (run, name, processes, start) in [(2, "b", 7, 200), (1, "a", 2, 100)] {
        let source = open(&place.join(format!("{name}.meta")));
        let told = source.run();
        assert_eq!(
            (told.processes, told.hostname.clone(), told.start_s),
            (Some(processes), Some(format!("host-{name}")), Some(start))
        );
        let mut notices = vec![format!("the recorder: of {name}")];
        if processes != 2 {
            notices.push("the run had 7 ranks; the trace has ranks 0, 3 only".to_owned());
        }
        assert_eq!(told.notices, notices);
        assert_eq!(source.ranks(), [rank(0), rank(3)]);
        for number in [3, 0] {
            let own = 10 * run + number;
            let mut reader = source.open(rank(number)).expect("a rank");
            let call = reader.next_call().expect("a good text").expect("a call");
            assert!(matches!(call.op, Op::CommSize { size, .. } if size == own as i32));
            assert_eq!(reader.info().version, Some([1, 0, own as u8]));
            let sites = source
                .sites(rank(number))
                .expect("a good file")
                .expect("there is one");
            let site = sites.of(0).expect("the call has one");
            let address = u64::from_str_radix(&own.to_string(), 16).expect("digits");
            assert_eq!(
                (site.object.to_str(), site.address),
                (Some(&*format!("/{own}")), address)
            );
        }
    }
    // The file of one rank has the sites of that rank.
    let source = open(&place.join("b-0003.txt"));
    let sites = source
        .sites(rank(3))
        .expect("a good file")
        .expect("there is one");
    assert_eq!(sites.of(0).map(|site| site.address), Some(0x23));
    assert_eq!(source.sites(rank(0)).expect("no file"), None);
}

/// A description is read up to 65,536 bytes. A longer one is named, and of a line that goes on
/// beyond nothing is read.
#[test]
fn a_description_is_read_to_its_bound() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.meta");
    write(folder.path(), "run-0000.txt", &numbered(1));
    for (length, is_whole) in [
        (65_535, true),
        (65_536, true),
        (65_537, false),
        (90_000, false),
    ] {
        let (first, last) = ("hostname=one\nnote=", "\nnumprocs=12");
        let note = "x".repeat(length - first.len() - last.len());
        fs::write(&path, format!("{first}{note}{last}")).expect("room");
        let source = open(&path);
        let run = source.run();
        let notices: Vec<_> = run
            .notices
            .iter()
            .map(|it| it.replace(&note, "NOTE"))
            .collect();
        let missing = "the run had 12 ranks; the trace has rank 0 only";
        let beyond = format!(
            "{} is longer than 65536 bytes: its lines beyond are not read",
            path.display()
        );
        let kept = "the recorder: NOTE".to_owned();
        let expected = match (is_whole, length) {
            (true, _) => vec![kept, missing.to_owned()],
            (false, 65_537) => vec![beyond, kept],
            // The note goes on beyond.
            _ => vec![beyond],
        };
        assert_eq!(notices, expected, "{length} bytes");
        let processes = is_whole.then_some(12);
        assert_eq!(
            (run.hostname.as_deref(), run.processes),
            (Some("one"), processes)
        );
    }
}

/// A name in an archive, in a record of its own before the file.
fn archive_of(kind: tar::EntryType, name: &[u8]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut add = |kind: tar::EntryType, name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(kind);
        header.set_size(bytes.len() as u64);
        header.set_path(name).expect("a short name");
        header.set_cksum();
        builder.append(&header, bytes).expect("room");
    };
    add(kind, "long", name);
    add(
        tar::EntryType::Regular,
        "other-0000.txt",
        numbered(5).as_bytes(),
    );
    builder.into_inner().expect("whole")
}

/// A name has up to 2^20 bytes. An archive with a longer one is refused: the short name in the
/// file's own header is another file's.
#[test]
fn a_long_name_is_whole_or_refused() {
    const MOST: usize = 1 << 20;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("long.tar");
    for (length, fits) in [(MOST - 1, true), (MOST, true), (MOST + 1, false)] {
        let end = "/run-0007.txt\0";
        let plain = format!("{}{end}", "d".repeat(length - end.len()));
        // An attribute begins with its own length.
        let path_first = "21 path=run-0007.txt\n";
        let rest = length - path_first.len();
        let head = format!("{rest} comment=");
        let comment = "c".repeat(rest - head.len() - 1);
        let pax = format!("{path_first}{head}{comment}\n");
        assert_eq!((plain.len(), pax.len()), (length, length));
        for (kind, name) in [
            (tar::EntryType::GNULongName, plain),
            (tar::EntryType::XHeader, pax),
        ] {
            fs::write(&path, archive_of(kind, name.as_bytes())).expect("room");
            let found = dpamatch_traces::open(&path, &OpenOptions::default());
            let found = found
                .map(|source| source.ranks().to_vec())
                .map_err(|error| error.to_string());
            let wrong = format!(
                "{}: damaged: a file's name or attributes have more than 1048576 bytes",
                path.display()
            );
            let expected = if fits { Ok(vec![rank(7)]) } else { Err(wrong) };
            assert_eq!(found, expected, "{kind:?} of {length} bytes");
        }
    }
}

/// A record has up to 64 MiB.
#[test]
fn a_record_is_bounded() {
    const MOST: u64 = 64 << 20;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("long-0000.bin");
    for (bytes, fits) in [(MOST - 1, true), (MOST, true), (MOST + 1, false)] {
        // MPI_Init with one argument: number, mask, count, and a length before the text.
        let text = u32::try_from(bytes - 11).expect("32 bits").to_be_bytes();
        let head = [
            b"\xff\xaa\xddDUMPI",
            &[0; 8][..],
            &[0, 124, 0, 0, 0, 0, 1],
            &text,
        ]
        .concat();
        fs::write(&path, head).expect("room");
        let file = fs::File::options()
            .append(true)
            .open(&path)
            .expect("the file");
        file.set_len(16 + MOST + 9).expect("a file with a hole");
        let region = Region::open(&path).expect("the file");
        let mut reader =
            dpamatch_traces::BinaryReader::new(region, rank(0), true).expect("a start");
        let name = reader
            .next_call()
            .expect("saved")
            .map(|call| call.function.name());
        assert_eq!(name, fits.then_some("MPI_Init"), "{bytes} bytes");
        if !fits {
            let salvage = reader.salvage().expect("damage").error.to_string();
            assert!(salvage.contains("no index at the end"), "{salvage}");
        }
    }
}

/// The calls of a rank up to its end or its error.
fn read(source: &dyn TraceSource, rank: Rank) -> (Vec<String>, Result<String, String>) {
    let mut calls = Vec::new();
    let mut reader = match source.open(rank) {
        Ok(reader) => reader,
        Err(error) => return (calls, Err(error.to_string())),
    };
    let before = format!("{:?}", reader.info());
    let end = loop {
        match reader.next_call() {
            Ok(Some(call)) => calls.push(format!("{call:?}")),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error.to_string()),
        }
    };
    // The end stays the end, and what was known before is still known.
    for _ in 0..3 {
        assert!(matches!(reader.next_call(), Ok(None)));
    }
    let info = format!("{:?}", reader.info());
    assert!(
        info == before || info.contains("DUMPI text"),
        "{info} {before}"
    );
    let saved = reader
        .salvage()
        .map(|Salvage { calls, error }| (*calls, error.to_string()));
    let told = format!(
        "{saved:?} {:?} {}",
        reader.unread(),
        reader.arguments().is_some()
    );
    (calls, end.map(|()| told))
}

/// Copies a folder of files and folders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("room");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("room");
        }
    }
}

/// The ranks of an archive as files in a folder.
fn unpack(archive: &Path, to: &Path) {
    let packed = fs::File::open(archive).expect("the archive");
    let mut archive = tar::Archive::new(lzma_rust2::XzReader::new(packed, true));
    for entry in archive.entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        let name = entry
            .path()
            .expect("a name")
            .file_name()
            .map(|name| name.to_owned());
        if entry.size() > 0 {
            let mut file = fs::File::create(to.join(name.expect("a file"))).expect("room");
            std::io::copy(&mut entry, &mut file).expect("whole");
        }
    }
}

fn errors_of(source: &dyn TraceSource) -> Vec<Result<u64, TraceError>> {
    let all = dpamatch_traces::per_rank(source, |_, reader| dpamatch_traces::tally(reader));
    all.into_iter()
        .map(|(_, told)| told.map(|tally| tally.calls.total()))
        .collect()
}

/// Checks a run whose rank `number` has this file, while the file is cut or changed.
fn breaks(place: &Path, file: &Path, number: u32, salvage: bool) {
    let bytes = fs::read(file).expect("the file");
    let options = OpenOptions {
        salvage,
        rank: None,
    };
    let source = dpamatch_traces::open(place, &options).expect("a trace");
    let (victim, ranks) = (rank(number), source.ranks().to_vec());
    let good: Vec<_> = ranks.iter().map(|&rank| read(&*source, rank)).collect();
    let at = ranks.binary_search(&victim).expect("it is one");
    let is = |end: &str| file.extension().is_some_and(|it| it == end);
    let (is_text, is_otf2) = (is("txt"), is("evt"));
    let (mut refused, mut earlier) = (0, 0);
    for step in 0..60 {
        let place = bytes.len() * (step + 1) / 62;
        let mut broken = bytes.clone();
        match step % 2 {
            0 => broken.truncate(place),
            _ => broken[place] ^= 0x55,
        }
        fs::write(file, &broken).expect("room");
        let told = read(&*source, victim);
        for (&other, good) in ranks.iter().zip(&good) {
            assert!(
                other == victim || read(&*source, other) == *good,
                "{other:?}"
            );
        }
        assert_eq!(read(&*source, victim), told, "the second time");
        for (other, result) in errors_of(&*source).into_iter().enumerate() {
            let calls = result.map_err(|error| error.to_string());
            let alone = if other == at { &told } else { &good[other] };
            let expected = alone.1.clone().map(|_| alone.0.len() as u64);
            assert_eq!(calls, expected, "rank {other} of all, {step}");
        }
        if step % 2 == 0 {
            // A text ends well between two calls.
            if !is_text {
                assert_eq!(told.1.is_err(), !salvage, "{step}: cut at {place}");
                assert_ne!(told.1, good[at].1, "it says that it is cut");
            }
            let same = |(one, other): &(&String, &String)| one == other;
            let equal = told.0.iter().zip(&good[at].0).take_while(same).count();
            // OTF2 leaves out a receive whose completion is cut.
            assert!(is_otf2 || equal == told.0.len(), "{step}");
            earlier += usize::from(equal > 0);
        }
        refused += usize::from(told.1.is_err());
    }
    fs::write(file, &bytes).expect("room");
    assert_eq!(read(&*source, victim), good[at], "whole again");
    assert_eq!((refused >= 25, earlier > 5), (!salvage, salvage || is_text));
}

/// One rank's file is cut or changed at many places, in every format. Each time the rank gives the
/// same calls and the same error twice, whatever was read between; its calls are those of the whole
/// file before the damage; the other ranks say what they said; and so does the rank itself when its
/// file is whole again.
#[test]
fn a_broken_rank_leaves_the_others_as_they_were() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = folder.path().join("binary");
    fs::create_dir(&binary).expect("room");
    unpack(&data("edge-4-mpich/edge-4-mpich.dumpi.tar.xz"), &binary);
    let (text, otf2) = (folder.path().join("text"), folder.path().join("otf2"));
    copy(&data("counted-by-hand"), &text);
    copy(&data("otf2"), &otf2);
    let mut all = fs::read_dir(&binary).expect("a folder");
    let second = all.find_map(|entry| {
        let path = entry.expect("an entry").path();
        path.to_string_lossy()
            .ends_with("-0001.bin")
            .then_some(path)
    });
    for salvage in [false, true] {
        breaks(&binary, second.as_deref().expect("the file"), 1, salvage);
        breaks(&text, &text.join("rank-0001.txt"), 1, salvage);
        breaks(&otf2, &otf2.join("three/70.evt"), 0, salvage);
    }
}
