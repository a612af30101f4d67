/* What Vulkan's loader hands to a layer. The declarations are those of the Vulkan headers, as far as they are needed: tests run where
 * these are not installed. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int32_t VkResult;
typedef void *Handle; /* A dispatchable one: it begins with the address of its table. */
typedef void (*Function)(void);
typedef Function (*GetInstanceProcAddr)(Handle instance, const char *name);
typedef Function (*GetDeviceProcAddr)(Handle device, const char *name);

enum { SUCCESS = 0, INITIALIZATION_FAILED = -3 };
enum { LOADER_INSTANCE_CREATE_INFO = 47, LOADER_DEVICE_CREATE_INFO = 48, LINK_INFO = 0 };

typedef struct Link {
    struct Link *next;
    GetInstanceProcAddr instance_proc;
    GetDeviceProcAddr device_proc; /* Of devices alone. */
} Link;

/* The beginning that VkLayerInstanceCreateInfo and VkLayerDeviceCreateInfo have in common. */
typedef struct Chained {
    uint32_t type;
    struct Chained *next;
    uint32_t function;
    Link *link;
} Chained;

typedef struct {
    uint32_t type;
    Chained *next;
} CreateInfo;

typedef struct {
    uint32_t type;
    void *next;
    uint32_t version;
    GetInstanceProcAddr instance_proc;
    GetDeviceProcAddr device_proc;
    void *physical_device_proc;
} NegotiateLayerInterface;

/* The link to the next layer, which is taken out of the chain. */
static Link *link_of(const CreateInfo *info, uint32_t type) {
    for (Chained *chained = info->next; chained; chained = chained->next)
        if (chained->type == type && chained->function == LINK_INFO) {
            Link *link = chained->link;
            chained->link = link->next;
            return link;
        }
    return NULL;
}
