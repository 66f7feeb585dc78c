package patch

import _ "github.com/openai/openai-go/v3"
