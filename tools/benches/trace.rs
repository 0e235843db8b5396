//! The trace readers: one rank of LULESH with its calls repeated, in two sizes, from memory.
//!
//! Ids are `trace_binary/lulesh/times` and `trace_text/lulesh/times`. Throughput is in bytes of the
//! file; equal throughput at both sizes shows a cost linear in the calls.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dpamatch::Rank;
use dpamatch_tools::trace::{BinaryReader, RankReader, Region, TextReader};
use lzma_rust2::XzReader;

/// Repetitions of the rank's calls: 1.2 MB and 9.4 MB of binary file.
const TIMES: [usize; 2] = [10, 80];

fn unpack(name: &str) -> Vec<u8> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/traces/lulesh-27").join(name);
    let mut bytes = Vec::new();
    XzReader::new(File::open(path).expect("the file"), true)
        .read_to_end(&mut bytes)
        .expect("whole");
    bytes
}

/// Rank 13's records between the two clock bases and the end-of-stream label.
fn records() -> Vec<u8> {
    let archive = unpack("lulesh-27.dumpi.tar.xz");
    let mut tar = tar::Archive::new(&archive[..]);
    let mut entries = tar.entries().expect("an archive").map(|entry| entry.expect("an entry"));
    let mut rank = entries
        .find(|entry| entry.path().is_ok_and(|path| path.to_string_lossy().ends_with("-0013.bin")))
        .expect("rank 13");
    let mut file = Vec::new();
    rank.read_to_end(&mut file).expect("whole");
    // The index' fifth word locates the header, right after the label.
    let at = file.len() - 64 + 4 * 8;
    let word = file[at..].first_chunk().expect("the index");
    let header = usize::try_from(u64::from_be_bytes(*word)).expect("an offset");
    file[16..header - 2].to_vec()
}

/// A file without index, as a killed job leaves it.
fn binary(records: &[u8], times: usize) -> Vec<u8> {
    let mut file = b"\xff\xaa\xddDUMPI\0\0\0\0\0\0\0\0".to_vec();
    (0..times).for_each(|_| file.extend(records));
    file
}

fn count(reader: &mut dyn RankReader) -> u64 {
    let mut calls = 0;
    while let Some(call) = reader.next_call().expect("a good trace") {
        std::hint::black_box(call);
        calls += 1;
    }
    calls
}

fn readers(c: &mut Criterion) {
    let (records, text) = (records(), unpack("rank-0013.txt.xz"));
    let calls = 1_868;
    let mut group = c.benchmark_group("trace_binary");
    for times in TIMES {
        let file: Arc<[u8]> = binary(&records, times).into();
        let region = Region::memory("memory", Arc::clone(&file));
        group.throughput(Throughput::Bytes(file.len() as u64));
        group.bench_function(BenchmarkId::new("lulesh", times), |b| {
            b.iter(|| {
                let mut reader =
                    BinaryReader::new(region.clone(), Rank::default(), true).expect("a trace");
                assert_eq!(count(&mut reader), calls * times as u64);
            });
        });
    }
    group.finish();
    let mut group = c.benchmark_group("trace_text");
    for times in TIMES {
        let file: Arc<[u8]> = text.repeat(times).into();
        group.throughput(Throughput::Bytes(file.len() as u64));
        group.bench_function(BenchmarkId::new("lulesh", times), |b| {
            b.iter(|| {
                let input = Box::new(Cursor::new(Arc::clone(&file)));
                let mut reader = TextReader::new("memory", input, Rank::default(), false);
                assert_eq!(count(&mut reader), calls * times as u64);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, readers);
criterion_main!(benches);
