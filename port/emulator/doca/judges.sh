#!/bin/sh
# Builds and runs NVIDIA's samples of DOCA DPA (BSD-3, tag 3.3.0 of NVIDIA-DOCA/doca-samples), which
# are not part of this repository, unmodified.
#   judges.sh PREFIX SAMPLES [NAME]...    SAMPLES is the folder `samples` of a checkout
# PREFIX is an installed emulator. Without names all run. dpa_nvqual, whose 190 threads take a minute
# or more, runs only by name. DPACC_CHECK=0 leaves out the checks of accesses.
set -eu
[ $# -ge 2 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
prefix=$(CDPATH= cd -- "$1" && pwd) samples=$(CDPATH= cd -- "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- dpa_kernel_launch dpa_basic_initiator_target dpa_initiator_target \
    dpa_ping_pong verbs_send_ethernet_frames_on_dpa verbs_receive_packets_on_dpa
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
failed=0

build() {
    case $1 in
        verbs_*) app=verbs_sample_app folder=$samples/doca_verbs common=$samples/common.c ;;
        dpa_nvqual) app=dpa_sample_app folder=$samples/doca_dpa common= ;;
        *) app=dpa_sample_app folder=$samples/doca_dpa common=$samples/doca_dpa/dpa_common.c ;;
    esac
    place=$folder/$1
    # Tags before 3.3.0 have no attributes.
    attributes=
    for yaml in "$place"/device/*_attributes.yaml; do
        [ ! -f "$yaml" ] || attributes=--dpa-proc-attr=$work/$1.blob
        [ ! -f "$yaml" ] || "$prefix/bin/dpa-app-attributes2blob" "$yaml" "$work/$1.blob"
    done
    "$prefix/bin/dpacc" "$place"/device/*_kernels_dev.c -o "$work/$1.a" -hostcc=cc \
        -mcpu=nv-dpa-bf3,nv-dpa-cx7 --app-name="$app" ${attributes:+"$attributes"} \
        --devicecc-options="-Wno-deprecated-declarations,-Werror,-Wall,-Wextra,-O2" \
        -device-libs="-L$prefix/lib -ldoca_dpa_dev -ldoca_dpa_dev_comm -ldoca_dpa_dev_verbs"
    # shellcheck disable=SC2086
    "${CC:-cc}" -g -DDOCA_ALLOW_EXPERIMENTAL_API "$place"/*_main.c "$place"/host/*.c $common \
        "$work/$1.a" -I "$folder" -I "$place/common" -I "$samples" -I "$prefix/include" \
        -idirafter "$prefix/include/fallback" -L "$prefix/lib" "-Wl,-rpath,$prefix/lib" \
        -ldoca_dpa -ldoca_rdma -ldoca_argp -ldoca_common -ldoca_verbs -ldoca_flow -lflexio \
        -libverbs -lmlx5 -lpthread -o "$work/$1"
}

for name; do
    build "$name"
    wire=loop options=
    case $name in
        verbs_send*) wire=pcap:out=$work/frames.pcap ;;
        verbs_receive*) wire=pcap:in=$work/frames.pcap ;;
        dpa_nvqual) options="--pf-device ${DPA_DEVICE:-mlx5_0} --test-duration-sec 1 --user-factor 0.009" ;;
    esac
    echo "== $name"
    # shellcheck disable=SC2086
    if DPA_WIRE=$wire "$work/$name" $options; then
        echo "== $name: right"
    else
        echo "== $name: exit code $?"
        failed=1
    fi
done
exit $failed
