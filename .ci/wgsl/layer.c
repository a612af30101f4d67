/* A Vulkan layer under which no device has the memory model that kernels in SPIR-V need, so that a build which can compile them takes
 * WGSL instead. One build serves both languages so. */
#include "../../crates/cli/tests/program/driver/loader.h"

enum { VULKAN_MEMORY_MODEL_FEATURES = 1000211000 };

/* The beginning of VkPhysicalDeviceFeatures2 and of what is chained to it. */
typedef struct Features {
    uint32_t type;
    struct Features *next;
    uint32_t memory_model, device_scope; /* Of the memory model alone. */
} Features;

/* One of each is enough: all instances have the functions of the one driver. */
static GetInstanceProcAddr next_instance_proc;
static void (*next_features)(Handle physical, Features *asked);

static VkResult create_instance(const CreateInfo *info, const void *allocator, Handle *made) {
    typedef VkResult (*Next)(const CreateInfo *, const void *, Handle *);
    Link *link = link_of(info, LOADER_INSTANCE_CREATE_INFO);
    if (!link) return INITIALIZATION_FAILED;
    next_instance_proc = link->instance_proc;
    VkResult result = ((Next)next_instance_proc(NULL, "vkCreateInstance"))(info, allocator, made);
    /* Later on the loader would answer with the function of this layer. */
    if (result == SUCCESS)
        next_features = (void (*)(Handle, Features *))next_instance_proc(*made, "vkGetPhysicalDeviceFeatures2");
    return result;
}

static void features(Handle physical, Features *asked) {
    next_features(physical, asked);
    for (Features *each = asked->next; each; each = each->next)
        if (each->type == VULKAN_MEMORY_MODEL_FEATURES) each->memory_model = each->device_scope = 0;
}

static Function instance_proc(Handle asking, const char *name) {
    if (!strcmp(name, "vkGetInstanceProcAddr")) return (Function)instance_proc;
    if (!strcmp(name, "vkCreateInstance")) return (Function)create_instance;
    if (!strcmp(name, "vkGetPhysicalDeviceFeatures2")) return (Function)features;
    if (!strcmp(name, "vkGetPhysicalDeviceFeatures2KHR")) return (Function)features;
    return asking ? next_instance_proc(asking, name) : NULL;
}

VkResult vkNegotiateLoaderLayerInterfaceVersion(NegotiateLayerInterface *layer) {
    layer->version = 2;
    layer->instance_proc = instance_proc;
    layer->device_proc = NULL;
    layer->physical_device_proc = NULL;
    return SUCCESS;
}
