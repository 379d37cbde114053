/* Checksums of all 2^24 colours for test_pixels.c, by matrix, range (limited, full), depth (8, 10) and plane. */
{
    {
        { 0x3ebe9a79f745df59u, 0x3ffe5ab7ebacdf88u, 0x3fffaaa12335f5c0u },
        { 0xfafa6e3aefa49b7cu, 0xfff972a4f55850c0u, 0xfffea55562c1687au },
    },
    {
        { 0x3fbe9e3fe4395b4bu, 0x3ffe6dd1999f36dfu, 0x3fffe920bc05b57du },
        { 0xffba3393145936cbu, 0xfff936cdafe06c25u, 0xffff27a59ae23ccdu },
    },
},
    {
        {
            { 0x3ebe7bd9103e596du, 0x3ffe7747202783a6u, 0x3fffa7815758043cu },
            { 0xfaf9e3cab0c19a96u, 0xfff9d277f2a6229cu, 0xfffe9de54a56150eu },
        },
        {
            { 0x3fbe6872d795c7acu, 0x3ffe8a2410a740c5u, 0x3fffe6d1244de71fu },
            { 0xffb992605f2130b9u, 0xfff9a55a872475fdu, 0xffff1ee4af2437dcu },
        },
    },
    {
        {
            { 0x3ebe8d6907556886u, 0x3ffe684488cbc864u, 0x3fffa5e55337e9fcu },
            { 0xfafa39a4834fd42du, 0xfff9a61f1cdd2faau, 0xfffe9bb2b9938e80u },
        },
        {
            { 0x3fbe7fbd4b7f2040u, 0x3ffe7d53db72c22du, 0x3fffe4e0bdae1f79u },
            { 0xffb9f79242d96d7au, 0xfff9722ee78a9679u, 0xffff191b93a0fae7u },
        },
    },
