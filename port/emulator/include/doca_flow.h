/* As much of Flow as leads frames to a queue of the DPA: a port, and a root pipe for all frames. */
#pragma once

#include <doca_dev.h>

#ifdef __cplusplus
extern "C" {
#endif

enum doca_flow_fwd_type { DOCA_FLOW_FWD_NONE = 0, DOCA_FLOW_FWD_RSS = 1, DOCA_FLOW_FWD_PORT = 2, DOCA_FLOW_FWD_PIPE = 3, DOCA_FLOW_FWD_DROP = 4 };
enum doca_flow_resource_type { DOCA_FLOW_RESOURCE_TYPE_NONE = 0, DOCA_FLOW_RESOURCE_TYPE_SHARED = 1, DOCA_FLOW_RESOURCE_TYPE_NON_SHARED = 2 };
enum doca_flow_pipe_type { DOCA_FLOW_PIPE_BASIC = 0, DOCA_FLOW_PIPE_CONTROL = 1 };
#define DOCA_FLOW_RSS_IPV4 (1 << 0)
#define DOCA_FLOW_RSS_IPV6 (1 << 1)
#define DOCA_FLOW_RSS_UDP (1 << 2)
#define DOCA_FLOW_RSS_TCP (1 << 3)

struct doca_flow_cfg;
struct doca_flow_port;
struct doca_flow_port_cfg;
struct doca_flow_pipe;
struct doca_flow_pipe_cfg;
struct doca_flow_pipe_entry;
struct doca_flow_actions_desc;
struct doca_flow_monitor;

struct doca_flow_fwd {
	enum doca_flow_fwd_type type;
	enum doca_flow_resource_type rss_type;
	struct {
		uint16_t *queues_array;
		uint32_t nr_queues;
		uint32_t outer_flags;
	} rss;
};
/* Without fields: a match of zeros takes all frames. */
struct doca_flow_match {
	uint8_t none[256];
};
struct doca_flow_actions {
	uint8_t none[256];
};

doca_error_t doca_flow_cfg_create(struct doca_flow_cfg **cfg);
doca_error_t doca_flow_cfg_destroy(struct doca_flow_cfg *cfg);
doca_error_t doca_flow_cfg_set_pipe_queues(struct doca_flow_cfg *cfg, uint16_t queues);
doca_error_t doca_flow_cfg_set_mode_args(struct doca_flow_cfg *cfg, const char *mode);
doca_error_t doca_flow_cfg_set_nr_counters(struct doca_flow_cfg *cfg, uint32_t counters);
doca_error_t doca_flow_init(struct doca_flow_cfg *cfg);
void doca_flow_destroy(void);
doca_error_t doca_flow_port_cfg_create(struct doca_flow_port_cfg **cfg);
doca_error_t doca_flow_port_cfg_destroy(struct doca_flow_port_cfg *cfg);
doca_error_t doca_flow_port_cfg_set_port_id(struct doca_flow_port_cfg *cfg, uint16_t id);
doca_error_t doca_flow_port_cfg_set_dev(struct doca_flow_port_cfg *cfg, struct doca_dev *device);
doca_error_t doca_flow_port_start(const struct doca_flow_port_cfg *cfg,
				  struct doca_flow_port **port);
doca_error_t doca_flow_port_stop(struct doca_flow_port *port);
doca_error_t doca_flow_pipe_cfg_create(struct doca_flow_pipe_cfg **cfg,
				       struct doca_flow_port *port);
doca_error_t doca_flow_pipe_cfg_destroy(struct doca_flow_pipe_cfg *cfg);
doca_error_t doca_flow_pipe_cfg_set_name(struct doca_flow_pipe_cfg *cfg, const char *name);
doca_error_t doca_flow_pipe_cfg_set_type(struct doca_flow_pipe_cfg *cfg,
					 enum doca_flow_pipe_type type);
doca_error_t doca_flow_pipe_cfg_set_is_root(struct doca_flow_pipe_cfg *cfg, bool is_root);
doca_error_t doca_flow_pipe_cfg_set_match(struct doca_flow_pipe_cfg *cfg,
					  const struct doca_flow_match *match,
					  const struct doca_flow_match *mask);
doca_error_t doca_flow_pipe_cfg_set_actions(struct doca_flow_pipe_cfg *cfg,
					    struct doca_flow_actions *const *actions,
					    struct doca_flow_actions *const *masks,
					    struct doca_flow_actions_desc *const *descriptions,
					    size_t count);
doca_error_t doca_flow_pipe_create(const struct doca_flow_pipe_cfg *cfg,
				   const struct doca_flow_fwd *forward,
				   const struct doca_flow_fwd *miss, struct doca_flow_pipe **pipe);
void doca_flow_pipe_destroy(struct doca_flow_pipe *pipe);
doca_error_t doca_flow_pipe_basic_add_entry(uint16_t queue, struct doca_flow_pipe *pipe,
					    const struct doca_flow_match *match, uint32_t action,
					    const struct doca_flow_actions *actions,
					    const struct doca_flow_monitor *monitor,
					    const struct doca_flow_fwd *forward, uint32_t flags,
					    void *user, struct doca_flow_pipe_entry **entry);
doca_error_t doca_flow_entries_process(struct doca_flow_port *port, uint16_t queue,
				       uint64_t timeout, uint32_t most);

#ifdef __cplusplus
}
#endif
