use super::*;

enum Value<'a> {
    Number(i64),
    Numbers(&'a [i32]),
    Requests(&'a [i32]),
    Statuses(&'a [Status]),
}
use Value::{Number as N, Numbers as List, Requests, Statuses};

fn status(source: i32, tag: i32) -> Status {
    Status { bytes: 4, source, tag, cancelled: false, error: 0 }
}

/// The operation of a function as text to compare. Unnamed arguments are 0.
fn told(name: &str, values: &[(&str, Value<'_>)]) -> String {
    let function = Function::all().find(|function| function.name() == name).expect("a function");
    let mut args = Arguments::default();
    args.begin(function);
    for (name, value) in values {
        let place =
            function.fields().iter().position(|field| field.name() == *name).expect("an argument");
        match *value {
            N(number) => args.set_number(place, number),
            List(numbers) => args.set_numbers(place, numbers.iter().copied()),
            Requests(requests) => args.set_requests(place, requests.iter().copied()),
            Statuses(statuses) => args.set_statuses(place, statuses.iter().copied()),
        }
    }
    match interpret(function, &mut args) {
        Ok(op) => format!("{op:?}"),
        Err(fault) => fault,
    }
}

fn op(op: Op<'_>) -> String {
    format!("{op:?}")
}

fn rank(rank: u32) -> Rank {
    Rank::new(rank).expect("a rank")
}

fn tag(tag: u32) -> Tag {
    Tag::new(tag).expect("a tag")
}

#[test]
fn both_sides_of_sendrecv() {
    let both = |count: u64, datatype: u32, received: (u64, u32)| {
        let payload = Payload { count, datatype: Datatype(datatype) };
        let room = Payload { count: received.0, datatype: Datatype(received.1) };
        let comm = Comm(9);
        op(Op::Sendrecv {
            send: SendSpec {
                mode: SendMode::Standard,
                dest: Dest::Rank(rank(3)),
                tag: tag(4),
                comm,
                payload,
            },
            recv: RecvSpec { source: Source::Rank(rank(7)), tag: TagSel::Tag(tag(8)), comm, room },
            status: Some(status(7, 8)),
        })
    };
    let statuses = [status(7, 8)];
    let with = |more: &[(&'static str, i64)]| {
        let common = [("dest", 3), ("sendtag", 4), ("source", 7), ("recvtag", 8), ("comm", 9)];
        let mut all: Vec<_> =
            common.iter().chain(more).map(|&(name, number)| (name, N(number))).collect();
        all.push(("status", Statuses(&statuses)));
        told(if more.len() == 4 { "MPI_Sendrecv" } else { "MPI_Sendrecv_replace" }, &all)
    };
    let two = with(&[("sendcount", 1), ("sendtype", 2), ("recvcount", 5), ("recvtype", 6)]);
    assert_eq!(two, both(1, 2, (5, 6)));
    assert_eq!(with(&[("count", 1), ("datatype", 2)]), both(1, 2, (1, 2)));
}

#[test]
fn what_was_found_or_completed_depends_on_its_flag() {
    let statuses = [status(3, 4)];
    let probe = |flag: i64, statuses: &[Status]| {
        told(
            "MPI_Iprobe",
            &[
                ("source", N(-1)),
                ("tag", N(4)),
                ("comm", N(2)),
                ("flag", N(flag)),
                ("status", Statuses(statuses)),
            ],
        )
    };
    let probed = |found: bool, status: Option<Status>| {
        let (source, tag, comm) = (Source::Any, TagSel::Tag(tag(4)), Comm::WORLD);
        op(Op::Probe { source, tag, comm, blocks: false, found, status })
    };
    assert_eq!(probe(1, &statuses), probed(true, Some(statuses[0])));
    // A status has no meaning without a message.
    assert_eq!(probe(0, &statuses), probed(false, None));

    let list = [Request(5), Request(6)];
    let done = |kind, requests, done, statuses| {
        op(Op::Completion(Completion { kind, requests, done, statuses }))
    };
    let any = |name: &str, flag: Option<i64>, index: i64| {
        let mut values = vec![
            ("requests", Requests(&[5, 6])),
            ("index", N(index)),
            ("status", Statuses(&statuses)),
        ];
        values.extend(flag.map(|flag| ("flag", N(flag))));
        told(name, &values)
    };
    let kind = CompletionKind::Testany;
    assert_eq!(any("MPI_Testany", Some(1), 1), done(kind, &list, Done::One(1), &statuses));
    assert_eq!(
        any("MPI_Testany", Some(0), 1),
        done(kind, &list, Done::None, &[]),
        "the index is junk"
    );
    assert_eq!(
        any("MPI_Waitany", None, 0),
        done(CompletionKind::Waitany, &list, Done::One(0), &statuses)
    );
    assert_eq!(any("MPI_Waitany", None, 2), "request 2 of 2 is complete");

    let test = |flag| {
        told("MPI_Test", &[("request", N(5)), ("flag", N(flag)), ("status", Statuses(&statuses))])
    };
    assert_eq!(test(1), done(CompletionKind::Test, &list[..1], Done::All, &statuses));
    assert_eq!(test(0), done(CompletionKind::Test, &list[..1], Done::None, &[]));
    let some = |count, statuses| {
        let indices = &[1][..usize::try_from(count).unwrap_or(0).min(1)];
        let list = Requests(&[5, 6]);
        let statuses = ("statuses", Statuses(statuses));
        told(
            "MPI_Waitsome",
            &[("requests", list), ("outcount", N(count)), ("indices", List(indices)), statuses],
        )
    };
    let kind = CompletionKind::Waitsome;
    assert_eq!(some(1, &statuses), done(kind, &list, Done::Some(&[1]), &statuses));
    assert_eq!(
        some(-1, &[]),
        done(kind, &list, Done::None, &[]),
        "MPI_UNDEFINED: no request was active"
    );
    assert_eq!(told("MPI_Cancel", &[("request", N(5))]), op(Op::Cancel(Request(5))));
}

#[test]
fn new_communicators_come_from_their_parents() {
    let made = |how: CommHow<'_>| op(Op::CommNew(CommNew { how, parent: Comm(10), new: Comm(20) }));
    let parent = |name| (name, N(10));
    let new = || ("newcomm", N(20));
    let split =
        told("MPI_Comm_split", &[parent("oldcomm"), ("color", N(3)), ("key", N(-4)), new()]);
    assert_eq!(split, made(CommHow::Split { color: Some(3), key: -4 }));
    let cart = told(
        "MPI_Cart_create",
        &[
            parent("oldcomm"),
            ("dims", List(&[2, 3])),
            ("periods", List(&[1, 0])),
            ("reorder", N(1)),
            new(),
        ],
    );
    assert_eq!(cart, made(CommHow::CartCreate { dims: &[2, 3], periods: &[1, 0], reorder: true }));
    let sub = told(
        "MPI_Cart_sub",
        &[("ndim", N(2)), parent("oldcomm"), ("remain_dims", List(&[0, 1])), new()],
    );
    assert_eq!(sub, made(CommHow::CartSub { remain: &[0, 1] }));
    let graph = told(
        "MPI_Graph_create",
        &[("numedges", N(7)), parent("oldcomm"), ("nodes", N(4)), ("reorder", N(0)), new()],
    );
    assert_eq!(graph, made(CommHow::GraphCreate { nodes: 4, reorder: false }));
    let inter = told(
        "MPI_Intercomm_create",
        &[
            parent("localcomm"),
            ("localleader", N(1)),
            ("remotecomm", N(30)),
            ("remoteleader", N(5)),
            ("tag", N(6)),
            new(),
        ],
    );
    assert_eq!(
        inter,
        made(CommHow::Intercomm { local_leader: 1, peer: Comm(30), remote_leader: 5, tag: 6 })
    );
}

#[test]
fn groups_take_in_or_leave_out() {
    let made = |how: GroupHow<'_>| op(Op::GroupNew(GroupNew { how, new: Group(8) }));
    let from = |name: &str, ranks: &[i32]| {
        let list = if name.contains("range") { "ranges" } else { "ranks" };
        told(name, &[("group", N(6)), (list, List(ranks)), ("newgroup", N(8))])
    };
    assert_eq!(from("MPI_Group_incl", &[2, 0]), made(GroupHow::Incl(Group(6), &[2, 0])));
    assert_eq!(from("MPI_Group_excl", &[2, 0]), made(GroupHow::Excl(Group(6), &[2, 0])));
    let range = &[[0, 6, 2]];
    assert_eq!(
        from("MPI_Group_range_incl", &[0, 6, 2]),
        made(GroupHow::RangeIncl(Group(6), range))
    );
    assert_eq!(
        from("MPI_Group_range_excl", &[0, 6, 2]),
        made(GroupHow::RangeExcl(Group(6), range))
    );
    assert_eq!(
        from("MPI_Group_range_excl", &[0, 6]),
        "a range of ranks without first, last and stride"
    );
    let two = |name: &str| told(name, &[("group1", N(1)), ("group2", N(2)), ("newgroup", N(8))]);
    assert_eq!(two("MPI_Group_union"), made(GroupHow::Union(Group(1), Group(2))));
    assert_eq!(two("MPI_Group_intersection"), made(GroupHow::Intersection(Group(1), Group(2))));
    assert_eq!(two("MPI_Group_difference"), made(GroupHow::Difference(Group(1), Group(2))));
}

#[test]
fn statuses_are_of_as_many_requests_as_are_complete() {
    let (two, one) = ([status(1, 2), status(3, 4)], [status(1, 2)]);
    let wait = |statuses: &[Status]| {
        let requests = ("requests", Requests(&[5, 6]));
        told("MPI_Waitall", &[("count", N(2)), requests, ("statuses", Statuses(statuses))])
    };
    assert!(wait(&two).starts_with("Completion"), "{}", wait(&two));
    assert!(wait(&[]).starts_with("Completion"), "{}", wait(&[]));
    assert_eq!(wait(&one), "1 statuses of 2 complete requests");
}

#[test]
fn a_length_for_each_rank_is_a_sum() {
    let told = told("MPI_Gatherv", &[("sendcount", N(2)), ("recvcounts", List(&[1, 2, 4]))]);
    let has = |count| told.contains(&format!("count: {count},"));
    assert!(has(2) && has(7), "{told}");
}
