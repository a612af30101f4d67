/* A Vulkan layer that makes a driver fail: it loses a device after some submissions, or has little memory.
 *
 * FAILING_LAYER_SUBMISSIONS  a file to which a byte is appended for each submission
 * FAILING_LAYER_LOSE_AT      the submission, counted from 1, at which the device that it goes to is lost
 * FAILING_LAYER_FOR_GOOD     if set, no device can be made once one was lost
 * FAILING_LAYER_BYTES        bytes of memory that there are */
#include "loader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { OUT_OF_DEVICE_MEMORY = -2, DEVICE_LOST = -4 };

typedef struct {
    uint32_t type;
    const void *next;
    uint64_t size;
    uint32_t memory_type;
} AllocateInfo;

/* A device, told from others by the table that all its handles begin with. */
typedef struct {
    void *table;
    int lost;
    Handle device;
    GetDeviceProcAddr next;
} Device;

typedef struct {
    uint64_t memory, size;
} Allocation;

enum { DEVICES = 16, ALLOCATIONS = 4096 };
static Device devices[DEVICES];
static Allocation allocations[ALLOCATIONS];
static int device_count, any_lost;
static uint64_t submissions, allocated;
static Handle instance;
static GetInstanceProcAddr next_instance_proc;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint64_t number(const char *variable) {
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : 0;
}

static Device *device_of(Handle handle) {
    void *table = *(void **)handle;
    /* The newest first: a device may have the table of one that is gone. */
    for (int at = device_count - 1; at >= 0; at--)
        if (devices[at].table == table) return &devices[at];
    abort();
}

static int is_lost(Handle handle) {
    pthread_mutex_lock(&mutex);
    int lost = device_of(handle)->lost;
    pthread_mutex_unlock(&mutex);
    return lost;
}

static Function next_of(Handle handle, const char *name) {
    pthread_mutex_lock(&mutex);
    Device *device = device_of(handle);
    pthread_mutex_unlock(&mutex);
    return device->next(device->device, name);
}

/* Counts a submission; whether the device is lost by now. */
static int loses(Handle queue) {
    const char *log = getenv("FAILING_LAYER_SUBMISSIONS");
    pthread_mutex_lock(&mutex);
    Device *device = device_of(queue);
    submissions++;
    if (log) {
        FILE *file = fopen(log, "a");
        if (file) {
            fputc('.', file);
            fclose(file);
        }
    }
    if (submissions == number("FAILING_LAYER_LOSE_AT")) device->lost = any_lost = 1;
    int lost = device->lost;
    pthread_mutex_unlock(&mutex);
    return lost;
}

static VkResult queue_submit(Handle queue, uint32_t count, const void *submits, uint64_t fence) {
    if (loses(queue)) return DEVICE_LOST;
    typedef VkResult (*Next)(Handle, uint32_t, const void *, uint64_t);
    return ((Next)next_of(queue, "vkQueueSubmit"))(queue, count, submits, fence);
}

static VkResult wait_semaphores(Handle device, const void *info, uint64_t timeout) {
    if (is_lost(device)) return DEVICE_LOST;
    typedef VkResult (*Next)(Handle, const void *, uint64_t);
    return ((Next)next_of(device, "vkWaitSemaphores"))(device, info, timeout);
}

static VkResult wait_for_fences(Handle device, uint32_t count, const uint64_t *fences, uint32_t all, uint64_t timeout) {
    if (is_lost(device)) return DEVICE_LOST;
    typedef VkResult (*Next)(Handle, uint32_t, const uint64_t *, uint32_t, uint64_t);
    return ((Next)next_of(device, "vkWaitForFences"))(device, count, fences, all, timeout);
}

static VkResult semaphore_value(Handle device, uint64_t semaphore, uint64_t *value) {
    if (is_lost(device)) return DEVICE_LOST;
    typedef VkResult (*Next)(Handle, uint64_t, uint64_t *);
    return ((Next)next_of(device, "vkGetSemaphoreCounterValue"))(device, semaphore, value);
}

static VkResult allocate_memory(Handle device, const AllocateInfo *info, const void *allocator, uint64_t *memory) {
    typedef VkResult (*Next)(Handle, const AllocateInfo *, const void *, uint64_t *);
    uint64_t most = number("FAILING_LAYER_BYTES");
    pthread_mutex_lock(&mutex);
    int refused = most && allocated + info->size > most;
    pthread_mutex_unlock(&mutex);
    if (refused) return OUT_OF_DEVICE_MEMORY;
    VkResult result = ((Next)next_of(device, "vkAllocateMemory"))(device, info, allocator, memory);
    pthread_mutex_lock(&mutex);
    for (int at = 0; result == SUCCESS && at < ALLOCATIONS; at++)
        if (!allocations[at].memory) {
            allocations[at] = (Allocation){*memory, info->size};
            allocated += info->size;
            break;
        }
    pthread_mutex_unlock(&mutex);
    return result;
}

static void free_memory(Handle device, uint64_t memory, const void *allocator) {
    typedef void (*Next)(Handle, uint64_t, const void *);
    pthread_mutex_lock(&mutex);
    for (int at = 0; memory && at < ALLOCATIONS; at++)
        if (allocations[at].memory == memory) {
            allocated -= allocations[at].size;
            allocations[at].memory = 0;
            break;
        }
    pthread_mutex_unlock(&mutex);
    ((Next)next_of(device, "vkFreeMemory"))(device, memory, allocator);
}

static VkResult create_instance(const CreateInfo *info, const void *allocator, Handle *made) {
    typedef VkResult (*Next)(const CreateInfo *, const void *, Handle *);
    Link *link = link_of(info, LOADER_INSTANCE_CREATE_INFO);
    if (!link) return INITIALIZATION_FAILED;
    next_instance_proc = link->instance_proc;
    Next next = (Next)next_instance_proc(NULL, "vkCreateInstance");
    VkResult result = next(info, allocator, made);
    if (result == SUCCESS) instance = *made;
    return result;
}

static VkResult create_device(Handle physical, const CreateInfo *info, const void *allocator, Handle *made) {
    typedef VkResult (*Next)(Handle, const CreateInfo *, const void *, Handle *);
    Link *link = link_of(info, LOADER_DEVICE_CREATE_INFO);
    if (!link) return INITIALIZATION_FAILED;
    GetDeviceProcAddr device_proc = link->device_proc;
    Next next = (Next)link->instance_proc(instance, "vkCreateDevice");
    pthread_mutex_lock(&mutex);
    int refused = (any_lost && getenv("FAILING_LAYER_FOR_GOOD")) || device_count == DEVICES;
    pthread_mutex_unlock(&mutex);
    if (refused) return INITIALIZATION_FAILED;
    VkResult result = next(physical, info, allocator, made);
    if (result != SUCCESS) return result;
    pthread_mutex_lock(&mutex);
    devices[device_count++] = (Device){*(void **)*made, 0, *made, device_proc};
    pthread_mutex_unlock(&mutex);
    return result;
}

static const struct {
    const char *name;
    Function function;
} own[] = {
    {"vkCreateInstance", (Function)create_instance},
    {"vkCreateDevice", (Function)create_device},
    {"vkQueueSubmit", (Function)queue_submit},
    {"vkWaitSemaphores", (Function)wait_semaphores},
    {"vkWaitSemaphoresKHR", (Function)wait_semaphores},
    {"vkWaitForFences", (Function)wait_for_fences},
    {"vkGetSemaphoreCounterValue", (Function)semaphore_value},
    {"vkGetSemaphoreCounterValueKHR", (Function)semaphore_value},
    {"vkAllocateMemory", (Function)allocate_memory},
    {"vkFreeMemory", (Function)free_memory},
};

static Function own_function(const char *name) {
    for (size_t at = 0; at < sizeof own / sizeof *own; at++)
        if (!strcmp(own[at].name, name)) return own[at].function;
    return NULL;
}

static Function device_proc(Handle device, const char *name) {
    Function function = strcmp(name, "vkGetDeviceProcAddr") ? own_function(name) : (Function)device_proc;
    return function ? function : next_of(device, name);
}

static Function instance_proc(Handle asking, const char *name) {
    if (!strcmp(name, "vkGetInstanceProcAddr")) return (Function)instance_proc;
    if (!strcmp(name, "vkGetDeviceProcAddr")) return (Function)device_proc;
    Function function = own_function(name);
    return function || !asking ? function : next_instance_proc(asking, name);
}

VkResult vkNegotiateLoaderLayerInterfaceVersion(NegotiateLayerInterface *layer) {
    layer->version = 2;
    layer->instance_proc = instance_proc;
    layer->device_proc = device_proc;
    layer->physical_device_proc = NULL;
    return SUCCESS;
}
