//! What the machine refuses, by programs that need no compiler.

use dpamatch_port::rv64::{Fault, Image, MEMORY_BASE, Setup, run};

fn small() -> Setup {
    Setup {
        memory: 1 << 16,
        limit: 100_000,
        ..Setup::default()
    }
}

#[test]
fn what_the_machine_does_not_have_is_refused() {
    let end = |code: &[u32]| run(&Image::from_code(code), &small()).end;
    let start = MEMORY_BASE;
    assert_eq!(end(&[0]), Err(Fault::Illegal { pc: start }));
    // A load of a floating-point number behind a `nop`, and a system call.
    assert_eq!(
        end(&[0x13, 0x0005_3507]),
        Err(Fault::Illegal { pc: start + 4 })
    );
    assert_eq!(end(&[0x73]), Err(Fault::Illegal { pc: start }));
    // ld a0, 0(zero)
    assert_eq!(
        end(&[0x0000_3503]),
        Err(Fault::Outside {
            pc: start,
            address: 0
        })
    );
    // auipc a1, 0; ld a0, 4(a1)
    let unaligned = Fault::Unaligned {
        pc: start + 4,
        address: start + 4,
    };
    assert_eq!(end(&[0x0000_0597, 0x0045_b503]), Err(unaligned));
    // j .
    assert!(matches!(end(&[0x6f]), Err(Fault::Limit { .. })));
    let too_small = Setup {
        memory: 4,
        ..Setup::default()
    };
    assert_eq!(
        run(&Image::from_code(&[0x13; 4]), &too_small).end,
        Err(Fault::Size)
    );
}
