//! Words as the OpenAPI document describes them: one for each variant of an enum.

/// A described word. The type describes and is never made.
macro_rules! words {
    ($(#[doc = $about:literal])+ $name:ident, $shown:literal, $of:ty) => {
        $(#[doc = $about])+
        pub enum $name {}

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let all = <$of as strum::VariantArray>::VARIANTS.iter();
                let words = all.map(|it| serde_json::to_value(it).expect("a word"));
                let schema = utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .description(Some(concat!($($about),+).trim()))
                    .enum_values(Some(words));
                schema.into()
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                $shown.into()
            }
        }
    };
}

pub(crate) use words;
