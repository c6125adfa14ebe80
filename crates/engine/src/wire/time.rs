//! Instants and spans as integer microseconds.

pub(crate) mod instant {
    use serde::{Deserialize, Deserializer, Serializer};
    use tollgate_model::Instant;

    pub(crate) fn serialize<S: Serializer>(value: &Instant, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(value.as_micros())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Instant, D::Error> {
        i64::deserialize(from).map(Instant::from_micros)
    }
}

pub(crate) mod span {
    use serde::{Deserialize, Deserializer, Serializer};
    use tollgate_model::Span;

    pub(crate) fn serialize<S: Serializer>(value: &Span, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(value.as_micros())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        i64::deserialize(from).map(Span::from_micros)
    }
}

pub(crate) mod optional_span {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use tollgate_model::Span;

    pub(crate) fn serialize<S: Serializer>(value: &Option<Span>, to: S) -> Result<S::Ok, S::Error> {
        value.map(Span::as_micros).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Span>, D::Error> {
        Ok(Option::<i64>::deserialize(from)?.map(Span::from_micros))
    }
}
