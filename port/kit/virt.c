/* A stand-in for the card's system on the board `virt`, and the test that runs on it: hart 0 is the
 * leader's execution unit, 1 to 3 are workers', 4 is host and wire. */
#include "handler.h"

#define WORKERS 4
#define ENDS WORKERS
#define WINDOW 64
#define WINDOWS 40

extern char arena_start[], arena_end[];

static struct card_context card;
static struct worker_context workers[WORKERS];
static struct leader_context leader;
static const uint32_t events[WORKERS] = {0, 1, 2, 3};

static struct {
    uint32_t rung __attribute__((aligned(64)));
} bells[WORKERS];
static uint32_t ready, activations;

void system_pause(void)
{
    __asm__ volatile("wfi" ::: "memory");
}

/* Bells here are never lost, so there is nothing to arm. */
void system_arm(uint32_t event)
{
    (void)event;
}

void system_doorbell(uint32_t event)
{
    __atomic_store_n(&bells[event].rung, 1, __ATOMIC_RELEASE);
}

static uint64_t hart_number(void)
{
    uint64_t hart;
    __asm__ volatile("csrr %0, mhartid" : "=r"(hart));
    return hart;
}

/* Handlers return here; the loop in `unit` goes on. */
void system_reschedule(void)
{
}

void system_retrigger(void)
{
    system_doorbell((uint32_t)hart_number());
}

/* A call to the machine's host (semihosting), in start.S. */
long host_call(long operation, const void *block);

static void say(const char *text)
{
    host_call(0x04, text);
}

static void __attribute__((noreturn)) leave(long code)
{
    const long block[2] = {0x20026, code};
    for (;;)
        host_call(0x20, block);
}

void dpamatch_panicked(void)
{
    say("the card's side gave up\n");
    leave(101);
}

/* An execution unit: activates its handler whenever its bell rings. */
static void unit(uint32_t event)
{
    for (;;) {
        while (!__atomic_exchange_n(&bells[event].rung, 0, __ATOMIC_ACQUIRE))
            system_pause();
        __atomic_fetch_add(&activations, 1, __ATOMIC_RELAXED);
        if (event == 0)
            leader_handler((uint64_t)&leader);
        else
            worker_handler((uint64_t)&workers[event]);
    }
}

/* Windows of receives, then a message for each; in every other window all have one tag. */
static int ends(void)
{
    int64_t requests[WINDOW];
    dpamatch_received received;
    uint64_t payload, first = 0;

    for (int window = 0; window < WINDOWS; window++, first += WINDOW) {
        for (uint32_t i = 0; i < WINDOW; i++) {
            uint32_t tag = window & 1 ? 7 : 100 + i;
            while ((requests[i] = dpamatch_post(card.card, 0, 5, tag, 8)) < 0)
                system_doorbell(0);
        }
        /* Posted before sent: the card admits posts before it reads messages. */
        for (uint32_t i = 0; i < WINDOW; i++) {
            uint32_t tag = window & 1 ? 7 : 100 + i;
            payload = first + i;
            while (dpamatch_send(card.card, 0, 5, tag, &payload, 8) != 0)
                system_pause();
            system_doorbell(0);
        }
        for (uint32_t got = 0; got < WINDOW;) {
            switch (dpamatch_poll(card.card, &received, &payload, 8)) {
            case 0:
                system_pause();
                break;
            case 1:
                if (received.arrival != first + got || payload != first + got ||
                    (int64_t)received.request != requests[got])
                    return 1;
                got++;
                break;
            default:
                return 2;
            }
        }
    }
    return 0;
}

static void set_up(void)
{
    static const dpamatch_config config = {
        .handlers = 8, .workers = WORKERS, .receives = 256, .bins = 64,
        .queue = 128, .eager_limit = 64, .fast_path = 3,
    };
    dpamatch_received received;

    card.card = dpamatch_new(&config, arena_start, (size_t)(arena_end - arena_start));
    card.workers = WORKERS;
    card.rest = 1;
    if (!card.card) {
        say("no card\n");
        leave(2);
    }
    leader = (struct leader_context){&card, events, 1000};
    for (uint32_t i = 1; i < WORKERS; i++)
        workers[i] = (struct worker_context){&card, dpamatch_worker(card.card, i), i};
    dpamatch_create(card.card, 0, 64);
    while (dpamatch_leader_round(card.card, 1))
        ;
    while (dpamatch_poll(card.card, &received, NULL, 0))
        ;
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
}

void hart_main(uint64_t hart)
{
    if (hart == 0)
        set_up();
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        system_pause();
    if (hart < WORKERS)
        unit((uint32_t)hart);
    if (hart == ENDS) {
        int wrong = ends();
        say(wrong ? "wrong pairs\n" : "right pairs\n");
        leave(wrong);
    }
    for (;;)
        system_pause();
}
