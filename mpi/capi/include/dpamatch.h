#ifndef DPAMATCH_H
#define DPAMATCH_H

/* Made by cbindgen from mpi/capi/src; `cargo test -p dpamatch_capi` says how to make it anew. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>


/*
 Success.
 */
#define DPAMATCH_OK 0

/*
 Try again: the receiver is not ready (try_send), or the communicator is in use (comm_free).
 */
#define DPAMATCH_AGAIN 1

/*
 An argument is invalid: a null pointer, a handle of another endpoint, a rank or tag out of
 range.
 */
#define DPAMATCH_ERR_ARGUMENT 2

/*
 An option is unknown or has an invalid value, or the options do not fit together.
 */
#define DPAMATCH_ERR_OPTION 3

/*
 The system has no thread or no memory left.
 */
#define DPAMATCH_ERR_SYSTEM 4

/*
 Another thread is inside a call with this endpoint.
 */
#define DPAMATCH_ERR_BUSY 5

/*
 The communicator's hints exclude the wildcard.
 */
#define DPAMATCH_ERR_WILDCARD 6

/*
 The message is longer than the buffer, which holds its beginning. The receive is over.
 */
#define DPAMATCH_ERR_TRUNCATED 7

/*
 The receive was cancelled. It is over.
 */
#define DPAMATCH_ERR_CANCELLED 8

/*
 The message is too long to send.
 */
#define DPAMATCH_ERR_TOO_LONG 9

/*
 The thread would wait for itself: it is the one that runs the receiver.
 */
#define DPAMATCH_ERR_OWN_THREAD 10

/*
 The receiver dropped the message without receiving it.
 */
#define DPAMATCH_ERR_NOT_RECEIVED 11

/*
 The emulated NIC has stopped, or its endpoint is gone.
 */
#define DPAMATCH_ERR_STOPPED 12

/*
 A fault of this library.
 */
#define DPAMATCH_ERR_INTERNAL 13

/*
 The version of this interface. It rises when programs built with an older header would no longer
 work.
 */
#define DPAMATCH_ABI_VERSION 1

/*
 Wildcard for the source.
 */
#define DPAMATCH_ANY_SOURCE -1

/*
 Wildcard for the tag.
 */
#define DPAMATCH_ANY_TAG -1

/*
 Receives use no wildcard for the source (mpi_assert_no_any_source).
 */
#define DPAMATCH_HINT_NO_ANY_SOURCE 1

/*
 Receives use no wildcard for the tag (mpi_assert_no_any_tag).
 */
#define DPAMATCH_HINT_NO_ANY_TAG 2

/*
 Messages may overtake each other (mpi_assert_allow_overtaking).
 */
#define DPAMATCH_HINT_ALLOW_OVERTAKING 4

/*
 Software on the host matches the communicator, which takes no room on the NIC.
 */
#define DPAMATCH_HINT_NO_OFFLOAD 8

/*
 A communicator of an endpoint.
 */
typedef struct dpamatch_comm dpamatch_comm;

/*
 A process's receiving side with an emulated NIC of its own. One thread at a time is inside a
 call with it; a second one gets DPAMATCH_ERR_BUSY. After dpamatch_endpoint_destroy, calls with
 a copy of the pointer return DPAMATCH_ERR_STOPPED.
 */
typedef struct dpamatch_endpoint dpamatch_endpoint;

/*
 A message that a probe took out of matching.
 */
typedef struct dpamatch_message dpamatch_message;

/*
 A posted receive whose end the program has not seen.
 */
typedef struct dpamatch_request dpamatch_request;

/*
 A message in flight.
 */
typedef struct dpamatch_send_request dpamatch_send_request;

/*
 A process that sends to an endpoint: its rank in one communicator. One thread at a time uses a
 sender; dpamatch_sender_clone makes one for another thread. The messages of one sender arrive in
 the order sent.
 */
typedef struct dpamatch_sender dpamatch_sender;

/*
 The status of a received or probed message.
 */
typedef struct dpamatch_status {
    /*
     Rank of its sender.
     */
    uint32_t source;
    /*
     Its tag.
     */
    uint32_t tag;
    /*
     Bytes in the buffer; for a probe, bytes sent.
     */
    uint64_t bytes;
    /*
     Bytes sent.
     */
    uint64_t sent;
    /*
     Number of messages that arrived at the endpoint before it.
     */
    uint64_t arrival;
} dpamatch_status;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The version of the interface that the library speaks: DPAMATCH_ABI_VERSION of its header.
 */
int32_t dpamatch_abi_version(void);

/*
 A short description of a code. Never null; the text lives as long as the program.
 */
const char *dpamatch_error_text(int32_t code);

/*
 The message of the calling thread's last failed call, with names and numbers. Never null; the
 text lives until the thread's next call.
 */
const char *dpamatch_last_error(void);

/*
 Creates an endpoint.

 `options`: names and values of the command line's options for the NIC, `"handlers=8 workers=2"`,
 separated by spaces or commas; null or empty for the defaults. The names are handlers, workers,
 slice-min, receives, bins, communicators, unexpected, unexpected-buffers, bounce-buffers,
 eager-limit, fast-path, early-check, removal, domains, barrier, hashes. With workers=0, the
 default, the NIC runs only inside the calls with this endpoint; otherwise it has that many
 threads of its own.

 Errors: ARGUMENT, OPTION, SYSTEM.

 # Safety
 `options` is null or text that ends with a zero; `endpoint` can be written.
 */
int32_t dpamatch_endpoint_create(const char *options, struct dpamatch_endpoint **endpoint);

/*
 Ends an endpoint and its threads. Receives that are still posted end without a message: the
 program may reuse their memory and free their requests. Senders get DPAMATCH_ERR_STOPPED.

 Sets `endpoint` to null. If another thread is inside a call with it, the call does nothing and
 returns BUSY. Of several threads that destroy one endpoint, each with a copy of the pointer, one
 succeeds; the others get BUSY, or STOPPED and null. A thread that still has a copy may call with
 it at any time, and gets STOPPED.

 # Safety
 `endpoint` is null, points to null, or points to an endpoint, which may have been destroyed. No
 other thread uses the place that it points to.
 */
int32_t dpamatch_endpoint_destroy(struct dpamatch_endpoint **endpoint);

/*
 Makes progress without waiting. Sets `worked`, unless null, to whether anything happened.

 Errors: ARGUMENT, BUSY.

 # Safety
 The endpoint is alive; `worked` is null or can be written.
 */
int32_t dpamatch_progress(struct dpamatch_endpoint *endpoint, bool *worked);

/*
 Reads a counter by its name: messages, clean, fast, slow, unexpected, blocks and others, as
 `dpamatch match --stats` prints them.

 Errors: ARGUMENT, also for an unknown name; BUSY.

 # Safety
 The endpoint is alive, the name ends with a zero, `value` can be written.
 */
int32_t dpamatch_counter(struct dpamatch_endpoint *endpoint, const char *name, uint64_t *value);

/*
 Creates a communicator. `hints`: a sum of DPAMATCH_HINT_..., or 0. If the NIC has no room for
 its tables, software matches it.

 Errors: ARGUMENT, BUSY, STOPPED.

 # Safety
 The endpoint is alive; `comm` can be written.
 */
int32_t dpamatch_comm_create(struct dpamatch_endpoint *endpoint,
                             uint32_t hints,
                             struct dpamatch_comm **comm);

/*
 Frees a communicator and sets `comm` to null. While it has senders, receives or messages, the
 call does nothing and returns DPAMATCH_AGAIN. After the endpoint was destroyed, call it with a
 null endpoint to free the handle.

 Errors: ARGUMENT, BUSY, STOPPED.

 # Safety
 The endpoint is alive or null; `comm` points to null or to a communicator that was not freed.
 */
int32_t dpamatch_comm_free(struct dpamatch_endpoint *endpoint, struct dpamatch_comm **comm);

/*
 Posts a receive for messages of `source` with `tag` (or DPAMATCH_ANY_SOURCE, DPAMATCH_ANY_TAG).
 The dpamatch_test or dpamatch_wait that ends the receive writes the message to `buffer`; no
 other call does.

 Errors: ARGUMENT, SYSTEM, BUSY, WILDCARD, STOPPED; TOO_LONG for a buffer of 4 GiB or more, which
 no message fills.

 # Safety
 Endpoint and communicator are alive; `request` can be written; `buffer` can be written until the
 receive is over.
 */
int32_t dpamatch_post(struct dpamatch_endpoint *endpoint,
                      const struct dpamatch_comm *comm,
                      int64_t source,
                      int64_t tag,
                      void *buffer,
                      size_t length,
                      struct dpamatch_request **request);

/*
 Tests whether a receive is over. If so, the call sets `done`, fills `status` (unless null),
 copies the message to the buffer, and frees the request and sets it to null. A null request is
 over.

 Errors: TRUNCATED and CANCELLED, with `done` set and the request freed; STOPPED, likewise;
 ARGUMENT, BUSY, with the request as it was.

 # Safety
 The endpoint is alive; `request` points to null or to a request; `done` can be written; `status`
 is null or can be written.
 */
int32_t dpamatch_test(struct dpamatch_endpoint *endpoint,
                      struct dpamatch_request **request,
                      bool *done,
                      struct dpamatch_status *status);

/*
 Waits for the end of a receive; for results and errors see dpamatch_test.

 # Safety
 The conditions of dpamatch_test.
 */
int32_t dpamatch_wait(struct dpamatch_endpoint *endpoint,
                      struct dpamatch_request **request,
                      struct dpamatch_status *status);

/*
 Cancels a receive, which must still be tested or waited for. It ends with
 DPAMATCH_ERR_CANCELLED, or with a message that came first.

 Errors: ARGUMENT, BUSY, STOPPED.

 # Safety
 Endpoint and request are alive.
 */
int32_t dpamatch_cancel(struct dpamatch_endpoint *endpoint, struct dpamatch_request *request);

/*
 Releases a request and sets it to null. Its receive stays posted and takes a message, which is
 then lost; the library does not write to the program's memory. After the endpoint was destroyed,
 call it with a null endpoint to free the handle.

 Errors: ARGUMENT, BUSY.

 # Safety
 The endpoint is alive or null; `request` points to null or to a request.
 */
int32_t dpamatch_request_free(struct dpamatch_endpoint *endpoint,
                              struct dpamatch_request **request);

/*
 Looks for the oldest unexpected message that a receive with this source and tag would take. The
 message stays. Sets `found` to whether there is one; if so, fills `status`, unless null.

 Errors: ARGUMENT, BUSY, WILDCARD, STOPPED.

 # Safety
 Endpoint and communicator are alive; `found` can be written; `status` is null or can be written.
 */
int32_t dpamatch_iprobe(struct dpamatch_endpoint *endpoint,
                        const struct dpamatch_comm *comm,
                        int64_t source,
                        int64_t tag,
                        bool *found,
                        struct dpamatch_status *status);

/*
 Takes the oldest unexpected message that a receive with this source and tag would take out of
 matching. Sets `message` to it, or to null if there is none. Receive it with dpamatch_imrecv or
 drop it with dpamatch_message_free.

 Errors: ARGUMENT, BUSY, WILDCARD, STOPPED.

 # Safety
 Endpoint and communicator are alive; `message` can be written; `status` is null or can be
 written.
 */
int32_t dpamatch_improbe(struct dpamatch_endpoint *endpoint,
                         const struct dpamatch_comm *comm,
                         int64_t source,
                         int64_t tag,
                         struct dpamatch_message **message,
                         struct dpamatch_status *status);

/*
 Receives a message that dpamatch_improbe took. Sets `message` to null, and `request` to a
 receive as dpamatch_post does.

 Errors: ARGUMENT, SYSTEM, BUSY, TOO_LONG; STOPPED, with the message lost.

 # Safety
 The conditions of dpamatch_post; `message` points to a message that was not received.
 */
int32_t dpamatch_imrecv(struct dpamatch_endpoint *endpoint,
                        struct dpamatch_message **message,
                        void *buffer,
                        size_t length,
                        struct dpamatch_request **request);

/*
 Drops a message that dpamatch_improbe took, and sets it to null. A sender that waits for it gets
 DPAMATCH_ERR_NOT_RECEIVED.

 # Safety
 `message` is null, points to null, or points to a message that was not received.
 */
int32_t dpamatch_message_free(struct dpamatch_message **message);

/*
 Creates a sender of rank `rank` in a communicator. It outlives the endpoint, and then gets
 DPAMATCH_ERR_STOPPED.

 Errors: ARGUMENT, BUSY.

 # Safety
 Endpoint and communicator are alive; `sender` can be written.
 */
int32_t dpamatch_sender_create(struct dpamatch_endpoint *endpoint,
                               const struct dpamatch_comm *comm,
                               uint32_t rank,
                               struct dpamatch_sender **sender);

/*
 Makes another sender of the same rank, for another thread.

 Errors: ARGUMENT.

 # Safety
 `sender` is alive; `copy` can be written.
 */
int32_t dpamatch_sender_clone(const struct dpamatch_sender *sender, struct dpamatch_sender **copy);

/*
 Ends a sender and sets it to null. Its messages are still delivered.

 # Safety
 `sender` is null, points to null, or points to a sender that no thread uses.
 */
int32_t dpamatch_sender_destroy(struct dpamatch_sender **sender);

/*
 Sends if the receiver is ready; else returns DPAMATCH_AGAIN. The program may reuse the bytes at
 once: a message above the eager limit is copied and goes by rendezvous.

 Errors: ARGUMENT, TOO_LONG, STOPPED.

 # Safety
 The sender is alive and no other thread uses it; `bytes` begins `length` bytes.
 */
int32_t dpamatch_try_send(struct dpamatch_sender *sender,
                          uint32_t tag,
                          const void *bytes,
                          size_t length);

/*
 Sends, and waits while the receiver is not ready, but never for a receive. The thread that uses
 the endpoint passes it, so that it makes progress meanwhile; other threads pass null. If the
 receiver does not become ready, which only this thread could change, the call ends with
 OWN_THREAD after some seconds; the message is not sent.

 Errors: ARGUMENT, also for a sender to another endpoint; BUSY, TOO_LONG, OWN_THREAD, STOPPED.

 # Safety
 The conditions of dpamatch_try_send; the endpoint is alive or null.
 */
int32_t dpamatch_send(struct dpamatch_endpoint *endpoint,
                      struct dpamatch_sender *sender,
                      uint32_t tag,
                      const void *bytes,
                      size_t length);

/*
 Sends a copy of the bytes by rendezvous, whatever their length, if the receiver is ready; else
 returns DPAMATCH_AGAIN. `request` is over when a receive has taken the message.

 Errors: ARGUMENT, TOO_LONG, STOPPED.

 # Safety
 The conditions of dpamatch_try_send; `request` can be written.
 */
int32_t dpamatch_try_issend(struct dpamatch_sender *sender,
                            uint32_t tag,
                            const void *bytes,
                            size_t length,
                            struct dpamatch_send_request **request);

/*
 Tests whether a receive has taken the message. If so, the call sets `done`, and frees the
 request and sets it to null. A null request is over.

 Errors: STOPPED and NOT_RECEIVED, with `done` set and the request freed; ARGUMENT.

 # Safety
 `request` points to null or to a request that no other thread uses; `done` can be written.
 */
int32_t dpamatch_send_test(struct dpamatch_send_request **request, bool *done);

/*
 Waits until a receive has taken the message, and frees the request. The thread that uses the
 endpoint passes it; other threads pass null.

 Errors: STOPPED and NOT_RECEIVED, with the request freed; ARGUMENT, also for a message to
 another endpoint, BUSY, and OWN_THREAD if the thread that uses the endpoint passes null, with
 the request as it was.

 # Safety
 The conditions of dpamatch_send_test; the endpoint is alive or null.
 */
int32_t dpamatch_send_wait(struct dpamatch_endpoint *endpoint,
                           struct dpamatch_send_request **request);

/*
 Releases a request and sets it to null; the message is still delivered.

 # Safety
 `request` is null, points to null, or points to a request that no other thread uses.
 */
int32_t dpamatch_send_free(struct dpamatch_send_request **request);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* DPAMATCH_H */
