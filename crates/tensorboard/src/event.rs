//! The messages of event files, those fields of TensorBoard's `event.proto`, `summary.proto` and `tensor.proto` that are used.

use prost::{Message, Oneof};

/// The version that every event file begins with. From this one on a session that starts takes back the points after it.
const VERSION: &str = "brain.Event:2";

/// The plugin that shows texts, `SummaryMetadata.PluginData.plugin_name`.
const TEXT: &str = "text";

/// `DataType.DT_STRING`.
const STRING: i32 = 7;

/// `DataClass.DATA_CLASS_TENSOR`.
const TENSOR: i32 = 2;

/// `SessionLog.SessionStatus.START`.
const START: i32 = 1;

/// Something at a step, `Event`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Event {
    /// Seconds since 1970.
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(oneof = "What", tags = "3, 5, 7")]
    what: Option<What>,
}

#[derive(Clone, PartialEq, Oneof)]
enum What {
    #[prost(string, tag = "3")]
    FileVersion(String),
    #[prost(message, tag = "5")]
    Summary(Summary),
    #[prost(message, tag = "7")]
    SessionLog(SessionLog),
}

#[derive(Clone, PartialEq, Message)]
struct SessionLog {
    #[prost(int32, tag = "1")]
    status: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Value>,
}

/// A value under a tag, `Summary.Value`.
#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(message, optional, tag = "9")]
    metadata: Option<Metadata>,
    #[prost(oneof = "Content", tags = "2, 8")]
    content: Option<Content>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Content {
    #[prost(float, tag = "2")]
    Scalar(f32),
    #[prost(message, tag = "8")]
    Tensor(Tensor),
}

/// `SummaryMetadata`.
#[derive(Clone, PartialEq, Message)]
struct Metadata {
    #[prost(message, optional, tag = "1")]
    plugin_data: Option<PluginData>,
    #[prost(int32, tag = "4")]
    data_class: i32,
}

#[derive(Clone, PartialEq, Message)]
struct PluginData {
    #[prost(string, tag = "1")]
    plugin_name: String,
    #[prost(bytes = "vec", tag = "2")]
    content: Vec<u8>,
}

/// A tensor without dimensions, `TensorProto`.
#[derive(Clone, PartialEq, Message)]
struct Tensor {
    #[prost(int32, tag = "1")]
    data_type: i32,
    #[prost(message, optional, tag = "2")]
    shape: Option<Shape>,
    #[prost(bytes = "vec", repeated, tag = "8")]
    strings: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Shape {}

impl Event {
    /// The first event of a file.
    pub(crate) fn version(wall_time: f64) -> Self {
        Self::of(wall_time, 0, What::FileVersion(VERSION.to_owned()))
    }

    /// Takes back all points of earlier files, which a TensorBoard that runs has read.
    pub(crate) fn session_start(wall_time: f64) -> Self {
        let log = SessionLog { status: START };
        Self::of(wall_time, 0, What::SessionLog(log))
    }

    /// The `figures` of a round, each under its tag.
    pub(crate) fn scalars(wall_time: f64, round: u64, figures: Vec<(String, f32)>) -> Self {
        let scalar = |(tag, figure)| Value {
            tag,
            metadata: None,
            content: Some(Content::Scalar(figure)),
        };
        let value = figures.into_iter().map(scalar).collect();
        let step = i64::try_from(round).unwrap_or(i64::MAX);
        Self::of(wall_time, step, What::Summary(Summary { value }))
    }

    /// A `text` in Markdown.
    pub(crate) fn text(wall_time: f64, tag: &str, text: String) -> Self {
        let tensor = Tensor {
            data_type: STRING,
            shape: Some(Shape {}),
            strings: vec![text.into_bytes()],
        };
        let content = Some(Content::Tensor(tensor));
        Self::of_plugin(wall_time, tag, (TEXT, Vec::new()), content)
    }

    /// What a `plugin` is told: its name and a message of its own.
    pub(crate) fn message(wall_time: f64, tag: &str, plugin: (&str, Vec<u8>)) -> Self {
        Self::of_plugin(wall_time, tag, plugin, None)
    }

    fn of_plugin(
        wall_time: f64,
        tag: &str,
        (plugin, content): (&str, Vec<u8>),
        value: Option<Content>,
    ) -> Self {
        let plugin_data = Some(PluginData {
            plugin_name: plugin.to_owned(),
            content,
        });
        let value = Value {
            tag: tag.to_owned(),
            metadata: Some(Metadata {
                plugin_data,
                data_class: TENSOR,
            }),
            content: value,
        };
        let summary = Summary { value: vec![value] };
        Self::of(wall_time, 0, What::Summary(summary))
    }

    fn of(wall_time: f64, step: i64, what: What) -> Self {
        Self {
            wall_time,
            step,
            what: Some(what),
        }
    }
}
