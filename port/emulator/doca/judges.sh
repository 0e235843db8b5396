#!/bin/sh
# Builds and runs NVIDIA's samples of DOCA DPA (BSD-3, tag 3.3.0 of NVIDIA-DOCA/doca-samples), which
# are not part of this repository, unmodified.
#   judges.sh PREFIX SAMPLES [NAME]...    SAMPLES is the folder `samples` of a checkout
# PREFIX is an installed emulator. Without names all run. dpa_nvqual, whose 190 threads take a minute
# or more, runs only by name. DPACC_CHECK=0 leaves out the checks of accesses. Programs that are not
# NVIDIA's run from a checkout of Tonny-Gu/dpa-bench that BENCH names.
set -eu
[ $# -ge 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
prefix=$(CDPATH= cd -- "$1" && pwd) samples=$(CDPATH= cd -- "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- dpa_kernel_launch dpa_basic_initiator_target dpa_initiator_target \
    dpa_ping_pong dpa_verbs_initiator_target verbs_send_ethernet_frames_on_dpa \
    verbs_receive_packets_on_dpa ${BENCH:+timer thread_comm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
failed=0

# Programs of dpa-bench: one file for each part.
build_bench() {
    case $1 in timer) part=wait_one_second_dev.c ;; *) part=$1_dev.c ;; esac
    "$prefix/bin/dpacc" "$BENCH/$1/$part" -o "$work/$1.a" -hostcc=cc -mcpu=nv-dpa-bf3 \
        --app-name="dpa_$1_app" --devicecc-options="-Wall,-Wextra,-O2" \
        -device-libs="-L$prefix/lib -ldoca_dpa_dev -ldoca_dpa_dev_comm"
    "${CC:-cc}" -g -DDOCA_ALLOW_EXPERIMENTAL_API "$BENCH/$1/main.c" "$work/$1.a" \
        -I "$prefix/include" -L "$prefix/lib" "-Wl,-rpath,$prefix/lib" -ldoca_dpa -ldoca_common \
        -lflexio -o "$work/$1"
}

build() {
    case $1 in
        timer | thread_comm) build_bench "$1"; return ;;
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

# Two programs: the target listens, and then the initiator connects to it.
run_pair() {
    "$@" > "$1.target" 2>&1 &
    target=$!
    until grep -q 'listening' "$1.target" || ! kill -0 $target 2> /dev/null; do sleep 0.1; done
    initiator=0
    "$@" --initiator 127.0.0.1 || initiator=$?
    wait $target || initiator=$?
    cat "$1.target"
    return $initiator
}

for name; do
    build "$name"
    wire=loop options= run=
    case $name in
        dpa_verbs_initiator_target)
            wire=link:path=$work/link run=run_pair options="--device ${DPA_DEVICE:-mlx5_0}" ;;
        timer | thread_comm) options="--device ${DPA_DEVICE:-mlx5_0}" ;;
        verbs_send*) wire=pcap:out=$work/frames.pcap ;;
        verbs_receive*) wire=pcap:in=$work/frames.pcap ;;
        dpa_nvqual) options="--pf-device ${DPA_DEVICE:-mlx5_0} --test-duration-sec 1 --user-factor 0.009" ;;
    esac
    echo "== $name"
    # shellcheck disable=SC2086
    export DPA_WIRE="$wire"
    if $run "$work/$name" $options; then
        echo "== $name: right"
    else
        echo "== $name: exit code $?"
        failed=1
    fi
done
exit $failed
