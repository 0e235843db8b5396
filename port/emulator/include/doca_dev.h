/* Devices: a PF, which DPA_DEVICE names, and an SF. */
#pragma once

#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DOCA_DEVINFO_PCI_ADDR_SIZE 13
#define DOCA_DEVINFO_IBDEV_NAME_SIZE 64
#define DOCA_DEVINFO_IFACE_NAME_SIZE 256
#define DOCA_DEVINFO_MAC_ADDR_SIZE 6
#define DOCA_DEVINFO_REP_VUID_SIZE 128

struct doca_devinfo_rep;
struct doca_dev_rep;
enum doca_devinfo_rep_filter { DOCA_DEVINFO_REP_FILTER_ALL = 0, DOCA_DEVINFO_REP_FILTER_NET = 2 };

doca_error_t doca_devinfo_create_list(struct doca_devinfo ***list, uint32_t *count);
doca_error_t doca_devinfo_destroy_list(struct doca_devinfo **list);
doca_error_t doca_devinfo_get_ibdev_name(const struct doca_devinfo *info, char *name, uint32_t bytes);
doca_error_t doca_devinfo_get_iface_name(const struct doca_devinfo *info, char *name, uint32_t bytes);
doca_error_t doca_devinfo_get_pci_addr_str(const struct doca_devinfo *info, char *address);
doca_error_t doca_devinfo_is_equal_pci_addr(const struct doca_devinfo *info, const char *address,
					    uint8_t *is_equal);
doca_error_t doca_devinfo_get_pci_func_type(const struct doca_devinfo *info,
					    enum doca_pci_func_type *type);
doca_error_t doca_devinfo_get_sf_index(const struct doca_devinfo *info, uint32_t *index);
doca_error_t doca_devinfo_get_mac_addr(const struct doca_devinfo *info, uint8_t *address,
				       uint32_t bytes);
doca_error_t doca_devinfo_rep_cap_is_filter_net_supported(const struct doca_devinfo *info,
							  uint8_t *is_supported);
doca_error_t doca_dev_open(struct doca_devinfo *info, struct doca_dev **device);
doca_error_t doca_dev_close(struct doca_dev *device);
struct doca_devinfo *doca_dev_as_devinfo(const struct doca_dev *device);

/* Refused. */

#ifdef __cplusplus
}
#endif
