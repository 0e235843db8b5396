//! What `footprint` shows.

use super::*;

/// The example of the paper.
///
/// O29: 3 x 128 bins x 20 bytes = 7,680; 8,192 receives x 64 bytes = 524,288; printed as "about
/// 520 KiB".
#[test]
fn the_example_of_the_paper() {
    shown("footprint --bins 128 --receives 8192")
        .has_lines("NIC receive descriptors 8,192 64 512.00 KiB")
        .has_lines(&["paper's formula, one communicator: 3 x 128 bins x 20 + 8,192 receives x 64 = 531,968 bytes (519.50", "KiB)"]);
    shown("footprint --bins 128 --receives 8192 --format json").json("/paper_bytes", "531968");
}

/// The prototype of the paper.
///
/// O30: 3 x 2,048 bins x 20 bytes = 122,880, and 1,024 descriptors of 64 bytes. The list I3 is
/// one more bin (O31).
#[test]
fn the_prototype_of_the_paper() {
    shown("footprint --communicators 1")
        .has_lines("NIC bins of posted receives 6,145 20 120.02 KiB")
        .has_lines(&["paper's formula, one communicator: 3 x 2,048 bins x 20 + 1,024 receives x 64 = 188,416 bytes", "(184.00 KiB)", "NIC memory in all: 21.38 MiB of 1.00 GiB (2.09 %)"]);
}

#[test]
fn the_sum_is_the_sum_of_the_tables_on_the_nic() {
    shown("footprint --handlers 8 --unexpected 100 --receives 5 --format json")
        .json("/nic_bytes", "20553172")
        .json("/tables/0/bytes", "320")
        .json("/tables/1/bytes", "0")
        .json("/tables/2/bytes", "20")
        .json("/tables/3/bytes", "1966400")
        .json("/tables/4/bytes", "786560")
        .json("/tables/5/bytes", "13200")
        .json("/tables/6/bytes", "416400")
        .json("/tables/7/bytes", "1344")
        .json("/tables/8/bytes", "262144")
        .json("/tables/9/bytes", "17039360")
        .json("/tables/10/bytes", "65536")
        .json("/tables/11/bytes", "1664")
        .json("/tables/12/bytes", "96")
        .json("/tables/13/bytes", "128")
        .json("/tables/14/bytes", "0");
}
