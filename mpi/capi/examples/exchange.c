/*
 * Two kinds of processes in one program: the main thread owns an endpoint and receives; three other
 * threads stand for three other processes and send to it, short messages and long ones.
 *
 * cc exchange.c $(pkg-config --cflags --libs dpamatch) -lpthread
 */
#include <dpamatch.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENDERS = 3, MESSAGES = 200, LONG = 20000 };

/* Ends the program unless the call gave the code that was expected. */
static void expect(int32_t code, int32_t expected, const char *what)
{
	if (code == expected)
		return;
	fprintf(stderr, "%s: %s: %s\n", what, dpamatch_error_text(code), dpamatch_last_error());
	exit(1);
}

#define OK(call) expect(call, DPAMATCH_OK, #call)

static void *send_all(void *argument)
{
	dpamatch_sender *sender = argument;
	static char text[LONG];
	for (uint32_t i = 0; i < MESSAGES; i++) {
		size_t length = i % 10 == 9 ? LONG : sizeof i;
		char *message = length == LONG ? memcpy(malloc(LONG), text, LONG) : malloc(length);
		memcpy(message, &i, sizeof i);
		OK(dpamatch_send(NULL, sender, i % 4, message, length));
		free(message);
	}
	OK(dpamatch_sender_destroy(&sender));
	return NULL;
}

/* Everything that the other threads send, each tag of each sender in its order. */
static uint64_t receive_all(dpamatch_endpoint *endpoint, dpamatch_comm *comm)
{
	static char buffers[SENDERS * MESSAGES][LONG];
	static dpamatch_request *requests[SENDERS * MESSAGES];
	uint32_t next[SENDERS][4];
	uint64_t bytes = 0;
	for (int i = 0; i < SENDERS * MESSAGES; i++)
		OK(dpamatch_post(endpoint, comm, DPAMATCH_ANY_SOURCE, i % 4, buffers[i], LONG,
				 &requests[i]));
	for (int rank = 0; rank < SENDERS; rank++)
		for (uint32_t tag = 0; tag < 4; tag++)
			next[rank][tag] = tag;
	for (int i = 0; i < SENDERS * MESSAGES; i++) {
		dpamatch_status status;
		uint32_t number;
		OK(dpamatch_wait(endpoint, &requests[i], &status));
		memcpy(&number, buffers[i], sizeof number);
		if (status.source >= SENDERS || status.tag != (uint32_t) (i % 4) ||
		    number != next[status.source][status.tag] || requests[i] != NULL) {
			fprintf(stderr, "receive %d: a wrong message\n", i);
			exit(1);
		}
		next[status.source][status.tag] += 4;
		bytes += status.bytes;
	}
	return bytes;
}

/* What can go wrong, and how it is told. */
static void mistakes(dpamatch_endpoint *endpoint, dpamatch_comm *comm)
{
	dpamatch_endpoint *other = NULL;
	dpamatch_request *request = NULL;
	dpamatch_message *message = NULL;
	dpamatch_sender *sender = NULL;
	dpamatch_send_request *sent = NULL;
	dpamatch_status status;
	char small[4] = "none", large[64] = "truncation";
	bool done = false, found = false;

	expect(dpamatch_endpoint_create("handlers=0", &other), DPAMATCH_ERR_OPTION, "no handlers");
	expect(dpamatch_endpoint_create("colour=red", &other), DPAMATCH_ERR_OPTION, "no option");
	expect(dpamatch_endpoint_create("handlers", &other), DPAMATCH_ERR_OPTION, "no value");
	expect(dpamatch_post(NULL, comm, 0, 0, small, 4, &request), DPAMATCH_ERR_ARGUMENT, "null");
	expect(dpamatch_post(endpoint, comm, -2, 0, small, 4, &request), DPAMATCH_ERR_ARGUMENT,
	       "no rank");
	OK(dpamatch_endpoint_create("handlers=4,receives=8", &other));
	expect(dpamatch_post(other, comm, 0, 0, small, 4, &request), DPAMATCH_ERR_ARGUMENT,
	       "a communicator of another endpoint");
	OK(dpamatch_endpoint_destroy(&other));
	OK(dpamatch_endpoint_destroy(&other));

	/* A message that is too long for the buffer. */
	OK(dpamatch_sender_create(endpoint, comm, 7, &sender));
	OK(dpamatch_post(endpoint, comm, 7, 1, small, sizeof small, &request));
	OK(dpamatch_send(endpoint, sender, 1, large, sizeof large));
	expect(dpamatch_wait(endpoint, &request, &status), DPAMATCH_ERR_TRUNCATED, "truncation");
	if (memcmp(small, "trun", 4) || status.bytes != 4 || status.sent != 64 || request)
		exit(2);

	/* A receive that nothing comes for. */
	OK(dpamatch_post(endpoint, comm, 7, 2, small, sizeof small, &request));
	OK(dpamatch_test(endpoint, &request, &done, &status));
	if (done)
		exit(3);
	OK(dpamatch_cancel(endpoint, request));
	expect(dpamatch_wait(endpoint, &request, &status), DPAMATCH_ERR_CANCELLED, "cancel");
	if (memcmp(small, "trun", 4))
		exit(4);

	/* A message that is looked at, taken, and received; its sender hears of it then. */
	OK(dpamatch_iprobe(endpoint, comm, 7, 3, &found, &status));
	if (found)
		exit(5);
	OK(dpamatch_try_issend(sender, 3, "rendezvous", 11, &sent));
	while (!found)
		OK(dpamatch_iprobe(endpoint, comm, DPAMATCH_ANY_SOURCE, 3, &found, &status));
	OK(dpamatch_improbe(endpoint, comm, 7, DPAMATCH_ANY_TAG, &message, &status));
	OK(dpamatch_send_test(&sent, &done));
	if (!message || status.bytes != 11 || done)
		exit(6);
	OK(dpamatch_imrecv(endpoint, &message, large, sizeof large, &request));
	OK(dpamatch_wait(endpoint, &request, &status));
	OK(dpamatch_send_wait(endpoint, &sent));
	if (strcmp(large, "rendezvous") || message || sent)
		exit(7);

	/* In use as long as there are senders. */
	expect(dpamatch_comm_free(endpoint, &comm), DPAMATCH_AGAIN, "a sender is left");
	OK(dpamatch_sender_destroy(&sender));
}

int main(int argc, char **argv)
{
	dpamatch_endpoint *endpoint = NULL;
	dpamatch_comm *comm = NULL;
	dpamatch_request *request = NULL;
	pthread_t threads[SENDERS];
	uint64_t matched = 0;
	char byte;

	if (dpamatch_abi_version() != DPAMATCH_ABI_VERSION) {
		fprintf(stderr, "the library is not the one of this header\n");
		return 1;
	}
	OK(dpamatch_endpoint_create(argc > 1 ? argv[1] : NULL, &endpoint));
	OK(dpamatch_comm_create(endpoint, 0, &comm));
	for (uint32_t rank = 0; rank < SENDERS; rank++) {
		dpamatch_sender *sender = NULL;
		OK(dpamatch_sender_create(endpoint, comm, rank, &sender));
		pthread_create(&threads[rank], NULL, send_all, sender);
	}
	uint64_t bytes = receive_all(endpoint, comm);
	for (int rank = 0; rank < SENDERS; rank++)
		pthread_join(threads[rank], NULL);
	OK(dpamatch_counter(endpoint, "messages", &matched));
	mistakes(endpoint, comm);
	OK(dpamatch_comm_free(endpoint, &comm));

	/* What outlives its endpoint. */
	OK(dpamatch_comm_create(endpoint, DPAMATCH_HINT_NO_ANY_TAG, &comm));
	expect(dpamatch_post(endpoint, comm, 0, DPAMATCH_ANY_TAG, &byte, 1, &request),
	       DPAMATCH_ERR_WILDCARD, "a wildcard that the hints exclude");
	OK(dpamatch_post(endpoint, comm, 0, 0, &byte, 1, &request));
	OK(dpamatch_endpoint_destroy(&endpoint));
	OK(dpamatch_request_free(NULL, &request));
	OK(dpamatch_comm_free(NULL, &comm));
	printf("%d messages, %" PRIu64 " bytes, %" PRIu64 " through the NIC\n", SENDERS * MESSAGES,
	       bytes, matched);
	return 0;
}
