//! Each sentence of .github/SECURITY.md about what is at risk has its tests, or a reason why it has
//! none.

mod sources;

use sources::{root, tests};

/// What holds a sentence.
enum Held {
    /// These tests.
    By(&'static [&'static str]),
    /// Nothing, for this reason.
    Not(&'static str),
}

/// The sentences of "What is at risk".
const SENTENCES: [(&str, Held); 26] = [
    (
        "dpamatch reads files that others may have made: traces, archives, streams of events, \
         profiles, matrices",
        Held::Not("it says what the next sentences are about"),
    ),
    (
        "None of them may make it crash, hang, take memory without bound, or write outside the \
         output folder",
        Held::By(&[
            "a_bomb_is_not_unpacked",
            "bounds_on_memory_are_those_of_the_text",
            "names_in_an_archive_are_no_paths",
            "the_limit_on_the_size_of_files_is_an_error",
        ]),
    ),
    (
        "The readers are fuzzed (`tests/fuzz/`)",
        Held::Not("`cargo +nightly fuzz` runs them"),
    ),
    (
        "A FIFO, a socket or a device is refused where a file is needed",
        Held::By(&[
            "what_is_no_file_is_refused_and_not_waited_for",
            "what_is_no_file_is_refused_by_its_name",
        ]),
    ),
    (
        "Where a command reads a text, `-` is standard input, and a shell's `<(...)` is read once",
        Held::By(&["what_is_no_file_is_refused_and_not_waited_for"]),
    ),
    (
        "A trace must be a file or a folder",
        Held::By(&["what_is_no_file_is_refused_and_not_waited_for"]),
    ),
    (
        "Temporary files have new names and are closed to other users",
        Held::By(&[
            "the_folder_is_new_and_closed_to_other_users",
            "files_are_private_and_follow_no_link",
        ]),
    ),
    (
        "An engine's library (`--engine PATH`, `DPAMATCH_ENGINE`) runs with all rights of the \
         user",
        Held::Not("a warning, no promise"),
    ),
    (
        "dpamatch checks its answers, not its code",
        Held::By(&[
            "each_lie_is_named_with_its_call",
            "a_lie_ends_each_command_with_one_line",
        ]),
    ),
    (
        "The recorder and the libfabric provider are loaded into other programs and run with \
         their rights",
        Held::Not("a warning, no promise"),
    ),
    (
        "What the provider promises depends on who attacks: - **Another user of the machine** \
         gets no connection through the Unix socket: the kernel identifies the caller and the \
         listener to the provider",
        Held::By(&[
            "callers_of_another_user_are_refused_at_once",
            "a_listener_of_another_user_gets_nothing",
            "another_user_at_the_other_end_is_refused",
        ]),
    ),
    (
        "A TCP port has no such check",
        Held::Not("a warning, no promise"),
    ),
    (
        "There both sides first prove that they know the key of the endpoint that is called",
        Held::By(&["a_stranger_at_a_port_gets_neither_key_nor_message"]),
    ),
    (
        "A user who has taken over the port of a process that has ended gets neither a key nor a \
         message",
        Held::By(&["a_stranger_at_a_port_gets_neither_key_nor_message"]),
    ),
    (
        "- **A stranger**, of this user or by TCP, who does not have an endpoint's address gets \
         no connection either: the address holds a key of 64 random bits",
        Held::By(&[
            "hellos_that_are_refused",
            "many_peers_of_one_machine_call_at_once",
        ]),
    ),
    (
        "Silent callers take at most 256 descriptors, and delay a new peer by about a second",
        Held::By(&[
            "silent_callers_keep_no_peer_out",
            "silent_callers_from_outside_keep_no_peer_out",
        ]),
    ),
    (
        "A flood of calls can delay it for longer",
        Held::Not("a warning, no promise"),
    ),
    (
        "TCP connections are not encrypted: anybody who reads the network learns keys and \
         messages",
        Held::Not("a warning, no promise"),
    ),
    (
        "- **A process of the same job** has every address, and the provider believes the \
         identity that it claims",
        Held::Not("a warning, no promise"),
    ),
    (
        "It cannot make this process read or write memory other than registered regions and \
         buffers in use, and it cannot make it abort",
        Held::By(&[
            "what_was_not_registered_for_it_is_refused",
            "a_key_that_is_used_again_does_not_open_the_old_memory",
        ]),
    ),
    (
        "Once `fi_close` of an endpoint or a region has returned, no operation of a peer that \
         keeps the rules changes that memory or delivers its later content as data \
         ([how](../docs/mpi-inside.md#how-a-message-travels))",
        Held::By(&[
            "a_closed_readers_memory_is_not_written",
            "a_closed_senders_memory_is_not_delivered",
            "a_closed_writers_memory_is_not_taken",
            "a_closed_region_is_not_read",
        ]),
    ),
    (
        "Processes of one user can read each other's memory where the kernel lets them; the \
         provider does not restrict that",
        Held::Not("a warning, no promise"),
    ),
    (
        "Requests that it does not answer, and its messages that no receive takes, use bounded \
         memory ([the bounds](../docs/mpi-inside.md#what-a-peer-can-fill))",
        Held::By(&[
            "a_peer_that_never_reads_is_cut_off",
            "operations_that_wait_for_a_peer_are_limited",
            "unexpected_messages_of_one_peer_are_bounded",
        ]),
    ),
    (
        "A recorded trace holds the arguments of the program's MPI calls, its command line, the \
         host's name and, if asked for, paths of the program",
        Held::Not("it says what the next sentence leaves out"),
    ),
    (
        "It never holds contents of messages",
        Held::By(&[
            "statuses_follow_the_indices",
            "large_counts_keep_their_bytes",
            "newer_calls_are_records_or_counted_by_name",
        ]),
    ),
    (
        "[How the results are checked](../docs/correctness.md#what-the-security-page-promises) \
         names the tests of these sentences",
        Held::By(&["each_sentence_about_security_has_its_tests"]),
    ),
];

/// The sentences of a section, without their full stops.
fn sentences(page: &str, heading: &str) -> Vec<String> {
    let (_, section) = page.split_once(heading).expect("the heading");
    let section = section.split("\n## ").next().unwrap_or_default();
    let words: Vec<&str> = section.split_whitespace().collect();
    let all = words.join(" ");
    let all = all.trim_end_matches('.').split(". ");
    all.map(str::to_owned).collect()
}

#[test]
fn each_sentence_about_security_has_its_tests() {
    let page = std::fs::read_to_string(root().join(".github/SECURITY.md")).expect("the page");
    let tests = tests();
    assert!(tests.len() > 1_000, "{}", tests.len());
    for (sentence, held) in &SENTENCES {
        match held {
            Held::By(names) => {
                for &name in *names {
                    assert!(tests.contains(name), "{sentence}: no test {name}");
                }
            }
            Held::Not(reason) => assert!(!reason.is_empty(), "{sentence}"),
        }
    }
    let said = SENTENCES.map(|(sentence, _)| sentence);
    assert_eq!(said[..], sentences(&page, "## What is at risk"));
}
