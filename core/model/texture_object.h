/* A texture or surface object: where its texels lie and how they are read. The CPU device's runtime keeps one in device
 * memory for each object that the application makes, and the object's handle is its address: so a handle is an address
 * like any other, and what it leads to is captured, replayed and checked as all memory is. C, because the device
 * library reads it too. Numbers are CUDA's (cudaResourceType, cudaChannelFormatKind, cudaTextureAddressMode, ...). */
#pragma once

enum kl_texture_use { KL_TEXTURE = 1, KL_SURFACE = 2 };
enum kl_texture_resource { KL_RESOURCE_ARRAY = 0, KL_RESOURCE_LINEAR = 2, KL_RESOURCE_PITCHED = 3 };
enum kl_texture_format { KL_TEXEL_SIGNED = 0, KL_TEXEL_UNSIGNED = 1, KL_TEXEL_FLOAT = 2 };
enum kl_texture_address { KL_ADDRESS_WRAP = 0, KL_ADDRESS_CLAMP = 1, KL_ADDRESS_MIRROR = 2, KL_ADDRESS_BORDER = 3 };

typedef struct kl_texture {
  unsigned long long memory;                 /* Address of the first texel; 0 where a descriptor stands for itself. */
  unsigned long long row_bytes, layer_bytes; /* From one row to the next, from one layer or slice to the next. */
  unsigned int width, height, depth;         /* In texels; 0: the array has no such dimension. Layers count in depth. */
  float border[4];
  unsigned char use;         /* enum kl_texture_use */
  unsigned char resource;    /* enum kl_texture_resource */
  unsigned char layered;     /* 1: depth counts layers. */
  unsigned char channels;    /* 1, 2 or 4 */
  unsigned char bits;        /* Of a channel: 8, 16 or 32. */
  unsigned char format;      /* enum kl_texture_format */
  unsigned char address[3];  /* enum kl_texture_address, along x, y, z. */
  unsigned char linear;      /* 1: linear filtering, 0: the nearest texel. */
  unsigned char as_float;    /* 1: integers are read as floats from 0 or -1 to 1. */
  unsigned char normalized;  /* 1: coordinates from 0 to 1. */
  unsigned char array_flags; /* cudaArrayLayered, cudaArraySurfaceLoadStore, ... of the array. */
  unsigned char reserved[7]; /* No padding: objects are compared as bytes. */
} kl_texture;
