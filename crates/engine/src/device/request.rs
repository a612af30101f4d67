//! Which device a user asks for.

use crate::error::EngineError;
use std::fmt;
use std::str::FromStr;

/// A device as a user asks for it: `cpu`, `wgpu`, `wgpu:1`, `cuda:0`, `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceRequest {
    /// The client-blocked trainer on the processor.
    #[default]
    Cpu,
    /// A GPU through wgpu, by index.
    Wgpu(usize),
    /// An NVIDIA GPU through CUDA, by index.
    Cuda(usize),
    /// A GPU if this binary and machine have one, else the processor.
    Auto,
}

impl FromStr for DeviceRequest {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Self, EngineError> {
        let (kind, index) = text.split_once(':').unwrap_or((text, "0"));
        match (kind, index.parse()) {
            ("cpu", Ok(0)) => Ok(Self::Cpu),
            ("auto", Ok(0)) => Ok(Self::Auto),
            ("wgpu", Ok(index)) => Ok(Self::Wgpu(index)),
            ("cuda", Ok(index)) => Ok(Self::Cuda(index)),
            _ => Err(EngineError::Device {
                device: text.to_owned(),
                reason: "no such device; use cpu, wgpu, wgpu:INDEX, cuda, cuda:INDEX or auto"
                    .to_owned(),
            }),
        }
    }
}

impl fmt::Display for DeviceRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Auto => f.write_str("auto"),
            Self::Wgpu(index) => write!(f, "wgpu:{index}"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_names_round_trip() {
        for name in ["cpu", "auto", "wgpu:0", "wgpu:3", "cuda:1"] {
            assert_eq!(
                name.parse::<DeviceRequest>()
                    .map(|device| device.to_string())
                    .as_deref(),
                Ok(name)
            );
        }
        for name in ["gpu", "wgpu:x", "cpu:1"] {
            let refused = name.parse::<DeviceRequest>().unwrap_err().to_string();
            let start = format!("device {name}: no such device");
            assert!(refused.starts_with(&start), "{refused}");
        }
    }
}
