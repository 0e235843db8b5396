//! What old versions and unusual recordings have in their binary files, byte by byte: each quirk
//! stands in a file made for it, beside what every version has.

use dpamatch_traces::Rank;
use dpamatch_traces::{Argument, BinaryReader, Op, RankReader, Region, Source, Status, TraceError};

const MAGIC: &[u8] = b"\xff\xaa\xddDUMPI";
/// Statuses are on; no times, no thread, no counters.
const PLAIN: u8 = 3;
const FINALIZE: u16 = 125;
const WTIME: u16 = 122;

fn be16(value: u16) -> [u8; 2] {
    value.to_be_bytes()
}

fn be32(value: i32) -> [u8; 4] {
    value.to_be_bytes()
}

/// A record: number, mask, what stands between the mask and the arguments, arguments.
fn record(number: u16, mask: u8, head: &[u8], arguments: &[u8]) -> Vec<u8> {
    [&be16(number), &[mask][..], head, arguments].concat()
}

/// `MPI_Send` of `count` characters to rank 1 with tag 7.
fn send(mask: u8, head: &[u8], count: i32) -> Vec<u8> {
    let arguments = [&be32(count)[..], &be16(2), &be32(1), &be32(7), &be16(2)].concat();
    record(0, mask, head, &arguments)
}

/// `MPI_Recv` of up to 100 characters from anybody with tag 7; what stands in place of its status.
fn recv(mask: u8, status: &[u8]) -> Vec<u8> {
    let arguments = [
        &be32(100)[..],
        &be16(2),
        &be32(-1),
        &be32(7),
        &be16(2),
        status,
    ]
    .concat();
    record(1, mask, &[], &arguments)
}

fn alone(number: u16) -> Vec<u8> {
    record(number, PLAIN, &[], &[])
}

struct Frame {
    version: [u8; 3],
    /// Words of the index, the magic included: 5 to 8.
    index_words: usize,
    /// What stands between the last call and the next section.
    padding: Vec<u8>,
    /// Names of the node and of the user.
    names: [Vec<u8>; 2],
}

/// What libdumpi writes today.
fn modern() -> Frame {
    Frame {
        version: [13, 0, 0],
        index_words: 8,
        padding: be16(293).to_vec(),
        names: [b"node".to_vec(), b"me".to_vec()],
    }
}

/// A file with these calls. Datatype 30 has 24 bytes, as far as the index says where that stands.
fn file(frame: &Frame, calls: &[Vec<u8>]) -> Vec<u8> {
    // Bases of both clocks: 1000 and 2000 s.
    let mut bytes = [
        MAGIC,
        &be32(1000),
        &be32(2000),
        &calls.concat(),
        &frame.padding,
    ]
    .concat();
    let header = bytes.len() as u64;
    bytes.extend(frame.version);
    bytes.extend(77_u64.to_be_bytes());
    for name in &frame.names {
        bytes.extend(be16(u16::try_from(name.len()).expect("16 bits")));
        bytes.extend(name);
    }
    bytes.extend([0; 8]);
    let footer = bytes.len() as u64;
    bytes.extend(0xf007_fee7_u64.to_be_bytes());
    // Called: the first function nine times, of which two were left out.
    let counts =
        |first: u32| (0..291).flat_map(move |at| if at == 0 { first } else { 0 }.to_be_bytes());
    bytes.extend(counts(9));
    bytes.extend(counts(2));
    let labels = bytes.len() as u64;
    bytes.extend(be32(0));
    let sizes = bytes.len() as u64;
    bytes.extend(be32(31));
    bytes.extend((0..31).flat_map(|datatype| be32(if datatype == 30 { 24 } else { 0 })));
    let addresses = bytes.len() as u64;
    bytes.extend(be32(0));
    // Versions put new words behind the magic; key values are never there.
    let words = [sizes, addresses, labels, header, 8, footer, 0];
    bytes.extend(MAGIC);
    for word in &words[8 - frame.index_words..] {
        bytes.extend(word.to_be_bytes());
    }
    bytes
}

fn reader(bytes: Vec<u8>) -> BinaryReader {
    BinaryReader::new(Region::memory("made", bytes), Rank::default(), false).expect("a trace")
}

/// Reads all calls; of each its function and operation as text.
fn read(bytes: Vec<u8>) -> Result<Vec<(&'static str, String)>, TraceError> {
    let mut reader = BinaryReader::new(Region::memory("made", bytes), Rank::default(), false)?;
    let mut told = Vec::new();
    while let Some(call) = reader.next_call()? {
        told.push((call.function.name(), format!("{:?}", call.op)));
    }
    Ok(told)
}

fn names(bytes: Vec<u8>) -> Vec<&'static str> {
    read(bytes)
        .expect("a good trace")
        .into_iter()
        .map(|(name, _)| name)
        .collect()
}

/// Before 0.6.2 `MPI_Init` tells the number of its arguments twice.
#[test]
fn init_counts_its_arguments_twice_before_0_6_2() {
    let arguments = |twice: bool| {
        let count = be32(2).repeat(if twice { 2 } else { 1 });
        let texts = [&be32(4)[..], b"prog", &be32(2), b"-s"].concat();
        record(124, PLAIN, &[], &[count, texts].concat())
    };
    for (version, twice) in [
        ([0, 5, 9], true),
        ([0, 6, 1], true),
        ([0, 6, 2], false),
        ([0, 7, 0], false),
        ([13, 0, 0], false),
    ] {
        let bytes = file(
            &Frame {
                version,
                ..modern()
            },
            &[arguments(twice), alone(FINALIZE)],
        );
        let mut reader = reader(bytes);
        assert!(reader.next_call().expect("a call").is_some(), "{version:?}");
        let told = reader.arguments().expect("they are kept");
        let texts = told.iter().find_map(|(_, argument)| match argument {
            Argument::Texts(texts) => Some(texts.iter().map(<[u8]>::to_vec).collect::<Vec<_>>()),
            _ => None,
        });
        assert_eq!(
            texts,
            Some(vec![b"prog".to_vec(), b"-s".to_vec()]),
            "{version:?}"
        );
        let next = reader
            .next_call()
            .expect("a call")
            .map(|call| call.function.name());
        assert_eq!(next, Some("MPI_Finalize"), "{version:?}");
        // The other way of counting is not understood.
        let wrong = file(
            &Frame {
                version,
                ..modern()
            },
            &[arguments(!twice), alone(FINALIZE)],
        );
        assert!(read(wrong).is_err(), "{version:?}");
    }
}

/// Before 0.6.3 a status has no tag: ten bytes in place of fourteen.
#[test]
fn statuses_have_no_tag_before_0_6_3() {
    let without = [&be32(1)[..], &be32(5), &be32(3), &[0, 9]].concat();
    let with = [&without[..], &be32(7)].concat();
    for (version, status, tag) in [
        ([0, 6, 1], &without, -1),
        ([0, 6, 2], &without, -1),
        ([0, 6, 3], &with, 7),
        ([1, 0, 0], &with, 7),
    ] {
        let calls = [recv(PLAIN, status), alone(WTIME), alone(FINALIZE)];
        let bytes = file(
            &Frame {
                version,
                ..modern()
            },
            &calls,
        );
        let mut reader = reader(bytes.clone());
        let call = reader.next_call().expect("good").expect("a call");
        let Op::Recv { recv, status } = call.op else {
            panic!("{:?}", call.op)
        };
        let expected = Status {
            bytes: 5,
            source: 3,
            tag,
            cancelled: false,
            error: 9,
        };
        assert_eq!(
            (recv.source, status),
            (Source::Any, Some(expected)),
            "{version:?}"
        );
        assert_eq!(
            names(bytes),
            ["MPI_Recv", "MPI_Wtime", "MPI_Finalize"],
            "{version:?}"
        );
    }
}

/// The index has grown: without sizes of datatypes, without addresses, without labels.
#[test]
fn the_index_has_five_to_eight_words() {
    for words in 5..=8 {
        let frame = Frame {
            index_words: words,
            ..modern()
        };
        let bytes = file(&frame, &[send(PLAIN, &[], 5), alone(FINALIZE)]);
        let reader = reader(bytes.clone());
        let info = reader.info();
        let header = (info.version, info.start_s, info.hostname.as_deref());
        assert_eq!(
            header,
            (Some([13, 0, 0]), Some(77), Some("node")),
            "{words} words"
        );
        let sizes = info.sizes.recorded().get(30).copied();
        assert_eq!(sizes, (words == 8).then_some(24), "{words} words");
        let footer = info.footer.as_ref().expect("every version has one");
        assert_eq!(
            (footer.called.total(), footer.ignored.total()),
            (9, 2),
            "{words} words"
        );
        assert_eq!(names(bytes), ["MPI_Send", "MPI_Finalize"], "{words} words");
    }
}

/// The longest names are read whole.
#[test]
fn a_header_has_names_of_up_to_65535_bytes() {
    for length in [65_534, 65_535] {
        let names = [vec![b'n'; length], vec![b'u'; length]];
        let frame = Frame { names, ..modern() };
        let bytes = file(&frame, &[send(PLAIN, &[], 5), alone(FINALIZE)]);
        let reader = reader(bytes);
        let node = reader.info().hostname.as_deref().expect("a name");
        assert!(node.len() == length && node.bytes().all(|byte| byte == b'n'));
    }
}

/// Old files have zeros behind `MPI_Finalize`, or nothing, and no mark of the end.
#[test]
fn padding_after_finalize_is_no_call() {
    let calls = [send(PLAIN, &[], 5), alone(FINALIZE)];
    for padding in [
        Vec::new(),
        vec![0; 2],
        vec![0; 3],
        vec![0; 64],
        be16(293).to_vec(),
    ] {
        let frame = Frame {
            padding: padding.clone(),
            ..modern()
        };
        assert_eq!(
            names(file(&frame, &calls)),
            ["MPI_Send", "MPI_Finalize"],
            "{padding:?}"
        );
    }
    // What is allowed afterwards is still read, and padding after it is the end as well.
    let frame = Frame {
        padding: vec![0; 64],
        ..modern()
    };
    let late = [alone(FINALIZE), alone(WTIME)];
    assert_eq!(names(file(&frame, &late)), ["MPI_Finalize", "MPI_Wtime"]);
    // Before it zeros are calls, and wrong ones.
    assert!(read(file(&frame, &[alone(WTIME)])).is_err());
    // The mark ends the stream: nothing may follow it.
    let frame = Frame {
        padding: [&be16(293)[..], &[0; 4]].concat(),
        ..modern()
    };
    let error = read(file(&frame, &calls)).expect_err("bytes behind the end");
    assert!(
        error
            .to_string()
            .contains("the calls end before their section does, bytes left: 4"),
        "{error}"
    );
}

/// All 32 masks: thread, both times, performance counters and statuses, each there or not.
#[test]
fn masks_say_what_stands_before_the_arguments() {
    let times = |seconds: u16| {
        [
            &be16(seconds)[..],
            &5_u32.to_be_bytes(),
            &be16(seconds + 1),
            &6_u32.to_be_bytes(),
        ]
        .concat()
    };
    for bits in 0..32_u8 {
        let [thread, cpu, wall, counters, statuses] = [1, 2, 4, 8, 16].map(|bit| bits & bit != 0);
        let mut head = Vec::new();
        let mut mask = 0;
        for (present, bit, bytes) in [
            (thread, 64, be16(6).to_vec()),
            (cpu, 4, times(10)),
            (wall, 8, times(20)),
            // Two counters of 16 bytes each: at entry, at return.
            (counters, 128, [&[2_u8][..], &[0xee; 32]].concat()),
        ] {
            if present {
                mask |= bit;
                head.extend(bytes);
            }
        }
        // Any of the two bits turns statuses on.
        let masks = if statuses {
            vec![mask | 1, mask | 2, mask | 3]
        } else {
            vec![mask]
        };
        for mask in masks {
            let status = [&be32(1)[..], &be32(5), &be32(3), &[0, 0], &be32(7)].concat();
            let status = if statuses { status } else { Vec::new() };
            let receive = recv(mask, &status);
            let receive = [&receive[..3], &head, &receive[3..]].concat();
            let bytes = file(&modern(), &[send(mask, &head, 5), receive, alone(FINALIZE)]);
            let mut reader = reader(bytes.clone());
            let call = reader.next_call().expect("good").expect("a call");
            assert_eq!(call.thread, thread.then_some(6), "{mask:#x}");
            let span = |span: Option<dpamatch_traces::Span>| {
                span.map(|span| (span.entry_ns, span.return_ns))
            };
            let second = 1_000_000_000;
            let expected = cpu.then_some((1010 * second + 5, 1011 * second + 6));
            assert_eq!(span(call.cpu), expected, "{mask:#x}");
            let expected = wall.then_some((2020 * second + 5, 2021 * second + 6));
            assert_eq!(span(call.wall), expected, "{mask:#x}");
            let Op::Send(sent) = call.op else {
                panic!("{:?}", call.op)
            };
            assert_eq!((sent.payload.count, sent.tag.get()), (5, 7), "{mask:#x}");
            let call = reader.next_call().expect("good").expect("a call");
            let Op::Recv { status, .. } = call.op else {
                panic!("{:?}", call.op)
            };
            assert_eq!(
                status.map(|status| status.tag),
                statuses.then_some(7),
                "{mask:#x}"
            );
            assert_eq!(
                names(bytes),
                ["MPI_Send", "MPI_Recv", "MPI_Finalize"],
                "{mask:#x}"
            );
        }
    }
}

/// Functions of the application that were entered and left are no calls.
#[test]
fn functions_of_the_application_are_passed_over() {
    let address = 0x1234_i64.to_be_bytes();
    let (entered, left) = (
        record(291, 64, &be16(1), &address),
        record(292, 0, &[], &address),
    );
    let calls = [
        entered.clone(),
        send(PLAIN, &[], 5),
        left,
        entered,
        alone(FINALIZE),
    ];
    assert_eq!(names(file(&modern(), &calls)), ["MPI_Send", "MPI_Finalize"]);
    let error = read(file(&modern(), &[alone(294)])).expect_err("no such function");
    assert!(
        error.to_string().contains("there is no function 294"),
        "{error}"
    );
}

/// Damage of the frame is named, not read over.
#[test]
fn an_index_that_leads_nowhere_is_refused() {
    let good = file(&modern(), &[send(PLAIN, &[], 5), alone(FINALIZE)]);
    let with_word = |word: usize, value: u64| {
        let mut bytes = good.clone();
        let at = bytes.len() - 64 + 8 * word;
        bytes[at..at + 8].copy_from_slice(&value.to_be_bytes());
        read(bytes).map_err(|error| error.to_string())
    };
    let length = good.len() as u64;
    // The last place that a section may have is that of the index itself.
    let beyond = with_word(6, length - 63).expect_err("beyond");
    assert!(
        beyond.contains(&format!(
            "the index points to byte {} of {length}",
            length - 63
        )),
        "{beyond}"
    );
    let early = with_word(5, 7).expect_err("early");
    assert!(
        early.contains("the index says that the calls begin at byte 7"),
        "{early}"
    );
    let footer = with_word(6, 8).expect_err("no footer");
    assert!(footer.contains("footer"), "{footer}");
    // Without a footer there is nothing to compare with.
    assert_eq!(with_word(6, 0).expect("a trace").len(), 2);
}
