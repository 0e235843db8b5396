//! What costs time on a DPA, told where it happens: in builds for virtual time `charge!(bin(b))`
//! calls the machine that keeps the clocks; in all others it is nothing, and its arguments are not
//! even looked at.

#[cfg(not(dpamatch_virtual))]
macro_rules! charge {
    ($what:ident($($argument:expr),*)) => {};
}

#[cfg(dpamatch_virtual)]
macro_rules! charge {
    ($what:ident($($argument:expr),*)) => {
        dpamatch_machine::charge::$what($($argument),*)
    };
}
