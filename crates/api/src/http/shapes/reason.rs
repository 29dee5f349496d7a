//! What the organiser does, and why.

/// A body that says why, beside its own members.
macro_rules! reasoned {
    (
        $(#[$doc:meta])*
        $name:ident $(<$life:lifetime>)? { $($(#[$about:meta])* $field:ident: $type:ty,)* }
    ) => {
        $(#[$doc])*
        #[derive(serde::Deserialize, utoipa::ToSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name $(<$life>)? {
            $($(#[$about])* $field: $type,)*
            /// Read over: who asks is the key's name.
            #[serde(default, rename = "by")]
            #[schema(value_type = serde_json::Value, deprecated)]
            _by: serde::de::IgnoredAny,
            /// Why.
            #[schema(value_type = $crate::json::ids::FreeText)]
            why: Box<str>,
        }
    };
}

pub(in crate::http) use reasoned;
