use super::*;
use crate::analyze::programs_of_text as programs;

fn number(word: &str) -> u32 {
    word.parse().expect("a number")
}

#[test]
fn communicators_are_those_of_the_text() {
    for section in include_str!("tests.txt").split("\n[").skip(1) {
        let (programs, claims) = programs(section.lines().skip(1));
        let comms = Communicators::resolve(&programs, programs.len() as u32);
        // The communicator that has this number at a rank.
        let at = |rank: &str, name: &str| {
            let (rank, name) = (number(rank) as usize, number(name));
            let made = programs[rank]
                .comms
                .iter()
                .rposition(|comm| comm.number == name);
            (rank, made.expect("a number of the rank") as LocalId)
        };
        let global = |rank, name| {
            let (rank, local) = at(rank, name);
            comms.global(rank, local)
        };
        for claim in claims {
            let holds = match claim[..] {
                ["incomplete", count] => comms.incomplete == u64::from(number(count)),
                ["own", rank, name, place] => {
                    let (rank, local) = at(rank, name);
                    comms.own_rank(rank, local) == number(place)
                }
                ["label", rank, name, label] => {
                    comms.all[global(rank, name) as usize].label == label
                }
                ["peer", rank, name, peer, "none"] => {
                    let comm = &comms.all[global(rank, name) as usize];
                    comm.peer(number(rank), number(peer)).is_none()
                }
                ["peer", rank, name, peer, world] => {
                    let comm = &comms.all[global(rank, name) as usize];
                    comm.peer(number(rank), number(peer)) == Some(number(world))
                }
                [rank, name, "is", other, also] => global(rank, name) == global(other, also),
                [rank, name, "is", "not", other, also] => global(rank, name) != global(other, also),
                [rank, name, "=", ref members @ ..] => {
                    let comm = &comms.all[global(rank, name) as usize];
                    let shown = comm.members.iter().map(u32::to_string);
                    let assumed = (comm.translation == Translation::Assumed).then_some("assumed");
                    let shown: Vec<_> = shown.chain(assumed.map(str::to_owned)).collect();
                    shown == members
                }
                _ => panic!("unknown: {claim:?}"),
            };
            assert!(holds, "[{section}: {claim:?}");
        }
    }
}
