/* One window of `dpamatch bench` on UCX's tag matching: two processes, shared memory, the same protocol, tags,
 * payloads and clock as the bench itself. Built and run by `dpamatch bench --peers`; by hand:
 *
 *   cc -O2 ucx.c -o ucx -lucp -lucs
 *   UCX_TLS=posix,self ./ucx window=128 size=8 repetitions=500 budget_ms=50 order=reverse
 *
 * A repetition (O38 in docs/decisions.md): the receiver posts k receives and says so; the sender starts the clock,
 * sends k messages and waits for the acknowledgement that follows the last completion. Go, ready and acknowledgement
 * are words of shared memory, as in the bench, so they cost both alike. An unexpected window's receives are posted
 * when a last message says that all others have come.
 *
 * With the word `alone` one thread has both ends and makes `repetitions` windows without looking at a clock: for
 * `cargo xtask instructions`, which counts. It prints how many receives there were.
 *
 * A window in which the system took the processor from an end, or which took ten times as long as the fastest one,
 * does not count, as in the bench (undisturbed.rs), unless the word `keep-disturbed` is given.
 *
 * Prints one line: version; median, minimum and maximum time of a window that counts; number of measured windows,
 * of those in which an end lost its processor, and of other slow ones; time to post a receive; time from the first
 * post to the last completion per message (unexpected windows); payloads checked. Times are in ns.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <ucp/api/ucp.h>

enum { WARM_UP = 20, LEAST = 10, SLOW = 10, SOURCE = 1, FIRST_TAG = 1000, STANDING_TAG = 1 << 29, DONE_TAG = 1 };
enum { ADDRESS_MAX = 4096, LINE = 128 };
enum { SENDER, RECEIVER };

/* What was asked for. */
static long window = 128, size = 8, repetitions = 500, budget_ms = 50, standing = 0, stride = 1, seed = 1;
static int reverse, shuffled, same_tag, any_source, any_tag, standing_wild, unexpected,
    alone, keep_disturbed;
static int processors[2] = {0, 1};

/* Memory of both processes. A word has one writer and counts windows; GONE ends the run. */
struct word { _Alignas(LINE) atomic_long said; };
static struct shared {
    struct word go, ready, ack, up[2];
    size_t address_length[2];
    char address[2][ADDRESS_MAX];
    long checked;
} *shared;
#define GONE (-1)

/* What the receiver saw of each measured window: memory of both processes. */
static struct seen { double post, receive; int preempted; } *seen;

/* The worker of this end; of the receiving end, if this thread has both. */
static ucp_worker_h worker;
static long open_receives, open_sends, open_standing;

static void fail(const char *what, ucs_status_t status)
{
    fprintf(stderr, "ucx: %s: %s\n", what, ucs_status_string(status));
    _exit(1);
}

static void *memory(size_t bytes)
{
    void *place = NULL;
    if (posix_memalign(&place, LINE, bytes ? bytes : LINE)) {
        fputs("ucx: out of memory\n", stderr);
        _exit(1);
    }
    memset(place, 0, bytes ? bytes : LINE);
    return place;
}

static double nanoseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

/* How often the system has taken the processor from this process. */
static long preemptions(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median(double *values, long count)
{
    if (count == 0) return 0;
    qsort(values, count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *counter)
{
    (void)info;
    if (status != UCS_OK && status != UCS_ERR_CANCELED) fail("receive", status);
    --*(long *)counter;
    ucp_request_free(request);
}

static void sent(void *request, ucs_status_t status, void *counter)
{
    if (status != UCS_OK) fail("send", status);
    --*(long *)counter;
    ucp_request_free(request);
}

/* 64-bit tags of UCX: source above, tag below; a wildcard is a part of the mask. */
static uint64_t tag_of(uint32_t tag) { return (uint64_t)SOURCE << 32 | tag; }
static uint64_t mask_of(int any_source, int any_tag)
{
    return (any_source ? 0 : UINT64_C(0xffffffff) << 32) | (any_tag ? 0 : UINT64_C(0xffffffff));
}

static void *post(uint64_t tag, uint64_t mask, void *buffer, long bytes, long *counter)
{
    ucp_request_param_t how = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.recv = received,
        .user_data = counter,
    };
    void *request = ucp_tag_recv_nbx(worker, buffer, bytes, tag, mask, &how);
    if (UCS_PTR_IS_ERR(request)) fail("post", UCS_PTR_STATUS(request));
    if (request) ++*counter;
    return request;
}

static void send_message(ucp_ep_h peer, uint64_t tag, const void *buffer, long bytes)
{
    ucp_request_param_t how = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = sent,
        .user_data = &open_sends,
    };
    void *request = ucp_tag_send_nbx(peer, buffer, bytes, tag, &how);
    if (UCS_PTR_IS_ERR(request)) fail("send", UCS_PTR_STATUS(request));
    if (request) ++open_sends;
}

static void until_none(long *counter)
{
    while (*counter > 0) ucp_worker_progress(worker);
}

static void say(struct word *word, long value) { atomic_store_explicit(&word->said, value, memory_order_release); }
static long wait_for(struct word *word, long value)
{
    long said;
    while ((said = atomic_load_explicit(&word->said, memory_order_acquire)) < value && said != GONE)
        ucp_worker_progress(worker);
    return said;
}

/* A message's number at the start and the end of its payload. */
static long end_length(void)
{
    return size <= 8 ? size : size / 2 < 8 ? size / 2 : 8;
}
static void stamp(char *bytes, long number)
{
    uint64_t word = number;
    memcpy(bytes, &word, end_length());
    memcpy(bytes + size - end_length(), &word, end_length());
}
static int holds(const char *bytes, long number)
{
    uint64_t word = number;
    return !memcmp(bytes, &word, end_length()) && !memcmp(bytes + size - end_length(), &word, end_length());
}

static uint32_t tag_of_message(long message) { return FIRST_TAG + (same_tag ? 0 : message * stride); }
static long spacing(void) { return size < 64 ? 64 : size; }

static void receive_windows(void)
{
    char *buffers = memory(window * spacing()), done[8], unused[8];
    long *order = memory(window * sizeof *order);
    void **requests = memory(standing * sizeof *requests);
    long measured = 0, lost = preemptions();
    srandom(seed);
    for (long i = 0; i < window; i++) order[i] = reverse ? window - 1 - i : i;
    for (long i = window - 1; shuffled && i > 0; i--) {
        long other = random() % (i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (long i = 0; i < standing; i++)
        requests[i] = post(tag_of(STANDING_TAG + i), mask_of(standing_wild, 0), unused, sizeof unused, &open_standing);
    uint64_t mask = mask_of(any_source, any_tag);
    for (long number = 1; wait_for(&shared->go, number) != GONE; number++) {
        if (number <= WARM_UP) memset(buffers, 0xff, window * spacing());
        if (unexpected) {
            post(tag_of(DONE_TAG), mask_of(0, 0), done, sizeof done, &open_receives);
            say(&shared->ready, number);
            until_none(&open_receives);
        }
        double start = nanoseconds();
        for (long slot = 0; slot < window; slot++)
            post(tag_of(tag_of_message(order[slot])), mask, buffers + slot * spacing(), size, &open_receives);
        double posted = nanoseconds();
        if (!unexpected) say(&shared->ready, number);
        until_none(&open_receives);
        /* No clock is read before it: a look takes a sixth of the time of a single message. */
        say(&shared->ack, number);
        double complete = nanoseconds();
        long before = lost;
        lost = preemptions();
        if (number > WARM_UP) {
            if (measured < repetitions) {
                seen[measured].post = (posted - start) / window;
                seen[measured].receive = (complete - start) / window;
                seen[measured++].preempted = lost != before;
            }
            continue;
        }
        for (long slot = 0; slot < window; slot++) {
            /* By the order of sending if all receives are alike, else each its own. */
            long message = same_tag || any_tag ? slot : order[slot];
            if (!holds(buffers + slot * spacing(), message)) {
                fprintf(stderr, "ucx: receive %ld did not get message %ld\n", slot, message);
                _exit(1);
            }
        }
        shared->checked += window;
    }
    for (long i = 0; i < standing; i++)
        if (requests[i]) ucp_request_cancel(worker, requests[i]);
    until_none(&open_standing);
}

/* Chooses the windows that count, or all if none does, and prints the line. */
static void print(double *times, const char *preempted, long measured)
{
    double *post = memory(measured * sizeof *post), *receive = memory(measured * sizeof *receive), fastest = 0;
    long lost = 0, slow = 0, kept = 0;
    for (long i = 0; i < measured; i++) {
        int counts = keep_disturbed || (!preempted[i] && !seen[i].preempted);
        lost += !counts;
        if (counts && (fastest == 0 || times[i] < fastest)) fastest = times[i];
    }
    for (long i = 0; i < measured; i++) {
        int choose = !keep_disturbed && lost < measured;
        if (choose && (preempted[i] || seen[i].preempted)) continue;
        if (choose && times[i] > SLOW * fastest) {
            slow++;
            continue;
        }
        post[kept] = seen[i].post;
        receive[kept] = seen[i].receive;
        times[kept++] = times[i];
    }
    double middle = median(times, kept);
    unsigned major, minor, patch;
    ucp_get_version(&major, &minor, &patch);
    printf("%u.%u.%u %.1f %.1f %.1f %ld %ld %ld %.2f %.2f %ld\n", major, minor, patch, middle, times[0],
           times[kept - 1], measured, lost, slow, median(post, kept), unexpected ? median(receive, kept) : 0,
           shared->checked);
}

static void send_windows(ucp_ep_h peer)
{
    char *payloads = memory(window * spacing());
    double *times = memory(repetitions * sizeof(double)), begin = 0;
    char *preempted = memory(repetitions);
    long measured = 0, lost = preemptions();
    for (long i = 0; i < window; i++) stamp(payloads + i * spacing(), i);
    for (long number = 1; number <= WARM_UP + repetitions; number++) {
        if (number == WARM_UP + 1) begin = nanoseconds();
        if (measured >= LEAST && nanoseconds() - begin > budget_ms * 1e6) break;
        say(&shared->go, number);
        wait_for(&shared->ready, number);
        double start = nanoseconds();
        for (long i = 0; i < window; i++)
            send_message(peer, tag_of(tag_of_message(i)), payloads + i * spacing(), size);
        if (unexpected) send_message(peer, tag_of(DONE_TAG), payloads, 8 < size ? 8 : size);
        until_none(&open_sends);
        wait_for(&shared->ack, number);
        double time = nanoseconds() - start;
        long before = lost;
        lost = preemptions();
        if (number > WARM_UP) {
            preempted[measured] = lost != before;
            times[measured++] = time;
        }
    }
    say(&shared->go, GONE);
    wait_for(&shared->up[RECEIVER], 2);
    print(times, preempted, measured);
}

/* UCX, with one worker or two. */
static ucp_context_h context_of_ucx(void)
{
    ucp_config_t *config;
    ucp_context_h context;
    ucs_status_t status;
    if ((status = ucp_config_read(NULL, NULL, &config)) != UCS_OK) fail("configuration", status);
    ucp_params_t features = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    if ((status = ucp_init(&features, config, &context)) != UCS_OK) fail("start", status);
    ucp_config_release(config);
    return context;
}

static ucp_worker_h worker_of(ucp_context_h context, ucp_address_t **address, size_t *length)
{
    ucp_worker_h made;
    ucs_status_t status;
    ucp_worker_params_t single = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE, .thread_mode = UCS_THREAD_MODE_SINGLE,
    };
    if ((status = ucp_worker_create(context, &single, &made)) != UCS_OK) fail("worker", status);
    if ((status = ucp_worker_get_address(made, address, length)) != UCS_OK) fail("address", status);
    return made;
}

static ucp_ep_h connection(ucp_worker_h from, const void *address)
{
    ucp_ep_h peer;
    ucs_status_t status;
    ucp_ep_params_t to = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};
    if ((status = ucp_ep_create(from, &to, &peer)) != UCS_OK) fail("connection", status);
    return peer;
}

/* One function for each part, so that its instructions can be told from the others. */

__attribute__((noinline)) static void post_window(char *buffers)
{
    for (long slot = 0; slot < window; slot++)
        post(tag_of(tag_of_message(slot)), mask_of(0, 0), buffers + slot * spacing(), size, &open_receives);
}

__attribute__((noinline)) static void send_window(ucp_ep_h peer, const char *payloads)
{
    for (long i = 0; i < window; i++)
        send_message(peer, tag_of(tag_of_message(i)), payloads + i * spacing(), size);
}

__attribute__((noinline)) static void collect_window(ucp_worker_h sender)
{
    while (open_receives > 0) {
        ucp_worker_progress(worker);
        if (open_sends > 0) ucp_worker_progress(sender);
    }
}

__attribute__((noinline)) static void collect_window_early(ucp_worker_h sender)
{
    while (ucp_worker_progress(worker) + ucp_worker_progress(sender)) {}
}

static int both_ends(void)
{
    ucp_context_h context = context_of_ucx();
    ucp_address_t *address, *unused;
    size_t length;
    ucp_worker_h sender = worker_of(context, &unused, &length);
    worker = worker_of(context, &address, &length);
    ucp_ep_h peer = connection(sender, address);
    char *payloads = memory(window * spacing()), *buffers = memory(window * spacing());
    long right = 0;
    for (long i = 0; i < window; i++) stamp(payloads + i * spacing(), i);
    for (long number = 0; number < repetitions; number++) {
        memset(buffers, 0xff, window * spacing());
        if (unexpected) {
            send_window(peer, payloads);
            collect_window_early(sender);
        }
        post_window(buffers);
        if (!unexpected) send_window(peer, payloads);
        collect_window(sender);
        for (long i = 0; i < window; i++) right += holds(buffers + i * spacing(), i);
    }
    printf("%ld\n", right);
    fflush(stdout);
    _exit(right != window * repetitions);
}

static void run(int role)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processors[role], &set);
    sched_setaffinity(0, sizeof set, &set);
    ucp_address_t *address;
    size_t length;
    worker = worker_of(context_of_ucx(), &address, &length);
    if (length > ADDRESS_MAX) fail("address", UCS_ERR_BUFFER_TOO_SMALL);
    memcpy(shared->address[role], address, length);
    shared->address_length[role] = length;
    say(&shared->up[role], 1);
    wait_for(&shared->up[!role], 1);
    ucp_ep_h peer = connection(worker, shared->address[!role]);
    if (role == SENDER) send_windows(peer);
    else receive_windows();
    /* Both leave together: what is on its way needs both. */
    say(&shared->up[role], 2);
    wait_for(&shared->up[!role], 2);
}

/* A receiver that fails has said why; the sender would wait for it for ever. */
static void receiver_ended(int signal)
{
    int status;
    (void)signal;
    if (waitpid(-1, &status, WNOHANG) > 0 && status != 0) _exit(1);
}

static int argument(const char *text)
{
    static const struct { const char *name; long *value; } NUMBERS[] = {
        {"window=", &window}, {"size=", &size}, {"repetitions=", &repetitions}, {"budget_ms=", &budget_ms},
        {"standing=", &standing}, {"stride=", &stride}, {"seed=", &seed},
    };
    static const struct { const char *name; int *value; } WORDS[] = {
        {"reverse", &reverse}, {"shuffled", &shuffled}, {"same-tag", &same_tag}, {"any-source", &any_source},
        {"any-tag", &any_tag}, {"standing-wild", &standing_wild}, {"unexpected", &unexpected}, {"alone", &alone},
        {"keep-disturbed", &keep_disturbed},
    };
    char *end;
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++)
        if (!strncmp(text, NUMBERS[i].name, strlen(NUMBERS[i].name))) {
            *NUMBERS[i].value = strtol(text + strlen(NUMBERS[i].name), &end, 10);
            return !*end;
        }
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (!strcmp(text, WORDS[i].name)) return *WORDS[i].value = 1;
    return sscanf(text, "processors=%d,%d", &processors[SENDER], &processors[RECEIVER]) == 2;
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++)
        if (!argument(arguments[i])) {
            fprintf(stderr, "ucx: unknown argument %s\n", arguments[i]);
            return 2;
        }
    if (window < 1 || size < 1 || repetitions < 1 || standing < 0) {
        fputs("ucx: window, size and repetitions begin at 1\n", stderr);
        return 2;
    }
    if (alone) return both_ends();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    seen = mmap(NULL, repetitions * sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || seen == MAP_FAILED) {
        perror("ucx: shared memory");
        return 1;
    }
    pid_t child = fork();
    if (child < 0) {
        perror("ucx: fork");
        return 1;
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run(RECEIVER);
        _exit(0);
    }
    signal(SIGCHLD, receiver_ended);
    run(SENDER);
    return fflush(stdout) != 0;
}
