//! Small programs in assembly, as one program: each begins at a symbol.
#![no_std]
#![no_main]

core::arch::global_asm!(
    include_str!("begin.S"),
    include_str!("instructions.S"),
    include_str!("litmus.S"),
);

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
