//! Speed of `Selector::accepts` per wildcard class (O5).
//!
//! Ids: `selector/accepts/<none|source|tag|both>`. One iteration judges [`MESSAGES`] envelopes, so
//! throughput is comparisons per second.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dpamatch_vocabulary::{Rank, Selector, SourceSel, Tag, TagSel, WildcardClass};

/// Envelopes per iteration: 8 kB, which stay in the first-level cache.
const MESSAGES: u32 = 1024;
/// Distinct ranks, and distinct tags; each (rank, tag) pair comes equally often.
const DISTINCT: u32 = 8;

fn rank(number: u32) -> Rank {
    Rank::new(number).expect("a small number is a rank")
}

fn tag(number: u32) -> Tag {
    Tag::new(number).expect("a small number is a tag")
}

/// The receive of this class for rank 3 and tag 5, where not wild.
fn selector(class: WildcardClass) -> Selector {
    let (source, tag) = (SourceSel::from(rank(3)), TagSel::from(tag(5)));
    match class {
        WildcardClass::Exact => Selector::new(source, tag),
        WildcardClass::AnySource => Selector::new(SourceSel::Any, tag),
        WildcardClass::AnyTag => Selector::new(source, TagSel::Any),
        WildcardClass::Any => Selector::new(SourceSel::Any, TagSel::Any),
    }
}

/// The class's part of the id, and the number of [`MESSAGES`] that its receive accepts.
fn expectation(class: WildcardClass) -> (&'static str, u32) {
    match class {
        WildcardClass::Exact => ("none", MESSAGES / (DISTINCT * DISTINCT)),
        WildcardClass::AnySource => ("source", MESSAGES / DISTINCT),
        WildcardClass::AnyTag => ("tag", MESSAGES / DISTINCT),
        WildcardClass::Any => ("both", MESSAGES),
    }
}

fn accepts(c: &mut Criterion) {
    let messages: Vec<(Rank, Tag)> =
        (0..MESSAGES).map(|i| (rank(i % DISTINCT), tag(i / DISTINCT % DISTINCT))).collect();
    let mut group = c.benchmark_group("selector/accepts");
    group.throughput(Throughput::Elements(u64::from(MESSAGES)));
    for class in WildcardClass::ALL {
        let selector = selector(class);
        let (id, accepted) = expectation(class);
        let count = |selector: Selector, messages: &[(Rank, Tag)]| {
            messages
                .iter()
                .map(|&(source, tag)| u32::from(selector.accepts(source, tag)))
                .sum::<u32>()
        };
        assert_eq!(count(selector, &messages), accepted, "{id}: the bench measures something else");
        group.bench_function(id, |b| b.iter(|| count(black_box(selector), black_box(&messages))));
    }
    group.finish();
}

criterion_group!(benches, accepts);
criterion_main!(benches);
