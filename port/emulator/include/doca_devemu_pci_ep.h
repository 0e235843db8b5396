#include <doca_devemu_pci.h>
