"""What a tensor is, from its name: matrices as transformers 5.24, torchvision, GGUF and Flax name them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from softfloat_ref.base.tables import read_toml
from softfloat_ref.nn.tensor_kinds import TABLE, TensorKind, kind_of, what_of

# model: names of its matrices, each with the part of the model, the layer and the kind
MATRICES: dict[str, dict[str, tuple[str, tuple[int, ...], str]]] = {
    "GPT-2": {
        "transformer.wte.weight": ("", (), "token embedding"),
        "transformer.wpe.weight": ("", (), "position embedding"),
        "transformer.h.11.attn.c_attn.weight": ("", (11,), "attention query, key and value"),
        "transformer.h.0.attn.c_proj.weight": ("", (0,), "attention output"),
        "transformer.h.0.mlp.c_fc.weight": ("", (0,), "MLP up"),
        "transformer.h.0.mlp.c_proj.weight": ("", (0,), "MLP down"),
        "lm_head.weight": ("", (), "output head"),
    },
    "Llama": {
        "model.embed_tokens.weight": ("", (), "token embedding"),
        "model.layers.31.self_attn.q_proj.weight": ("", (31,), "attention query"),
        "model.layers.0.self_attn.k_proj.weight": ("", (0,), "attention key"),
        "model.layers.0.self_attn.v_proj.weight": ("", (0,), "attention value"),
        "model.layers.0.self_attn.o_proj.weight": ("", (0,), "attention output"),
        "model.layers.0.mlp.gate_proj.weight": ("", (0,), "MLP gate"),
        "model.layers.0.mlp.up_proj.weight": ("", (0,), "MLP up"),
        "model.layers.0.mlp.down_proj.weight_packed": ("", (0,), "MLP down"),
    },
    "Llama in GGUF": {
        "token_embd.weight": ("", (), "token embedding"),
        "blk.3.attn_q.weight": ("", (3,), "attention query"),
        "blk.3.attn_output.weight": ("", (3,), "attention output"),
        "blk.3.ffn_gate.weight": ("", (3,), "MLP gate"),
        "blk.3.ffn_down.weight": ("", (3,), "MLP down"),
        "blk.3.ffn_up_exps.weight": ("", (3,), "expert up"),
        "blk.3.ffn_gate_inp.weight": ("", (3,), "router"),
        "output.weight": ("", (), "output head"),
    },
    "ResNet of torchvision": {
        "conv1.weight": ("", (), "convolution 1"),
        "layer1.0.conv1.weight": ("", (1, 0), "convolution 1"),
        "layer4.2.conv3.weight": ("", (4, 2), "convolution 3"),
        "layer1.0.downsample.0.weight": ("", (1, 0), "shortcut convolution"),
        "fc.weight": ("", (), "output head"),
    },
    "ResNet of transformers": {
        "resnet.embedder.embedder.convolution.weight": ("", (), "stem convolution"),
        "resnet.encoder.stages.3.layers.2.layer.1.convolution.weight": ("encoder", (3, 2), "convolution 1"),
        "resnet.encoder.stages.0.layers.0.shortcut.convolution.weight": ("encoder", (0, 0), "shortcut convolution"),
        "classifier.1.weight": ("", (), "output head"),
    },
    "Whisper": {
        "model.encoder.conv2.weight": ("encoder", (), "convolution 2"),
        "model.encoder.embed_positions.weight": ("encoder", (), "position embedding"),
        "model.encoder.layers.3.self_attn.q_proj.weight": ("encoder", (3,), "attention query"),
        "model.encoder.layers.3.self_attn.out_proj.weight": ("encoder", (3,), "attention output"),
        "model.encoder.layers.3.fc1.weight": ("encoder", (3,), "MLP up"),
        "model.encoder.layers.3.fc2.weight": ("encoder", (3,), "MLP down"),
        "model.decoder.embed_tokens.weight": ("decoder", (), "token embedding"),
        "model.decoder.layers.0.encoder_attn.v_proj.weight": ("decoder", (0,), "cross-attention value"),
        "model.decoder.layers.0.encoder_attn.out_proj.weight": ("decoder", (0,), "cross-attention output"),
        "proj_out.weight": ("", (), "output head"),
    },
    "T5": {
        "shared.weight": ("", (), "token embedding"),
        "encoder.block.5.layer.0.SelfAttention.q.weight": ("encoder", (5,), "attention query"),
        "encoder.block.0.layer.0.SelfAttention.o.weight": ("encoder", (0,), "attention output"),
        "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight": (
            "encoder", (0,), "position embedding",
        ),
        "encoder.block.0.layer.1.DenseReluDense.wi_0.weight": ("encoder", (0,), "MLP gate"),
        "encoder.block.0.layer.1.DenseReluDense.wi_1.weight": ("encoder", (0,), "MLP up"),
        "decoder.block.0.layer.1.EncDecAttention.k.weight": ("decoder", (0,), "cross-attention key"),
        "decoder.block.0.layer.1.EncDecAttention.o.weight": ("decoder", (0,), "cross-attention output"),
        "decoder.block.0.layer.2.DenseReluDense.wo.weight": ("decoder", (0,), "MLP down"),
    },
    "mixtures of experts": {
        "model.layers.1.block_sparse_moe.gate.weight": ("", (1,), "router"),
        "model.layers.1.block_sparse_moe.experts.7.w1.weight": ("", (1,), "expert gate"),
        "model.layers.1.block_sparse_moe.experts.7.w2.weight": ("", (1,), "expert down"),
        "model.layers.1.block_sparse_moe.experts.7.w3.weight": ("", (1,), "expert up"),
        "model.layers.1.mlp.gate.weight": ("", (1,), "router"),
        "model.layers.1.mlp.experts.gate_up_proj": ("", (1,), "expert gate and up"),
        "model.layers.1.mlp.experts.3.down_proj.weight": ("", (1,), "expert down"),
        "model.layers.1.mlp.shared_experts.up_proj.weight": ("", (1,), "shared expert up"),
        "model.layers.1.self_attn.kv_a_proj_with_mqa.weight": ("", (1,), "attention key and value down"),
        "model.layers.1.self_attn.q_b_proj.weight": ("", (1,), "attention query up"),
    },
    "others": {
        "bert.encoder.layer.2.attention.self.query.weight": ("encoder", (2,), "attention query"),
        "bert.encoder.layer.2.attention.output.dense.weight": ("encoder", (2,), "attention output"),
        "bert.encoder.layer.2.intermediate.dense.weight": ("encoder", (2,), "MLP up"),
        "bert.encoder.layer.2.output.dense.weight": ("encoder", (2,), "MLP down"),
        "cls.predictions.decoder.weight": ("", (), "output head"),
        "text_model.encoder.layers.0.self_attn.q_proj.weight": ("text", (0,), "attention query"),
        "vision_model.embeddings.patch_embedding.weight": ("vision", (), "patch embedding"),
        "transformer.h.0.self_attention.query_key_value.weight": ("", (0,), "attention query, key and value"),
        "transformer.h.0.self_attention.dense.weight": ("", (0,), "attention output"),
        "params/transformer/h/4/attn/c_attn/kernel": ("", (4,), "attention query, key and value"),
        "params/encoder/layers_2/self_attn/q_proj/kernel": ("encoder", (2,), "attention query"),
        "a/m.safetensors:model.layers.3.self_attn.q_proj.weight": ("", (3,), "attention query"),
    },
    "names that no pattern knows": {
        "backbone.layers.7.mixer.in_proj.weight": ("", (7,), "mixer.in_proj"),
        "model.layers.0.mlp.normal_proj.weight": ("", (0,), "mlp.normal_proj"),
        "features.10.weight": ("", (10,), "features"),
        "4.weight": ("", (4,), "weight"),
        "output": ("", (), "output"),
        "w": ("", (), "weight"),
        "dense/kernel:0": ("", (), "dense"),
    },
}  # fmt: skip


@pytest.mark.parametrize("model", MATRICES)
def test_matrices(model: str) -> None:
    for name, (stack, depth, kind) in MATRICES[model].items():
        assert kind_of(name, (16, 32)) == TensorKind(kind, stack, depth, True), name


def test_a_number_of_any_length_is_read_in_bounded_time() -> None:
    assert kind_of(f"layers.{'9' * 100_000}.w.weight", (2, 2)).depth == ()


VECTORS = {
    "transformer.h.0.ln_1.weight": "norm",
    "transformer.ln_f.bias": "bias",
    "model.layers.0.input_layernorm.weight": "norm",
    "model.norm.weight": "norm",
    "resnet.encoder.stages.0.layers.0.layer.0.normalization.running_var": "norm",
    "layer1.0.bn1.running_mean": "norm",
    "model.decoder.layers.0.encoder_attn_layer_norm.weight": "norm",
    "vision_model.pre_layrnorm.weight": "norm",
    "params/encoder/layers_0/norm1/scale": "norm",
    "model.layers.0.self_attn.q_proj.bias": "bias",
    "blk.0.attn_norm.weight": "norm",
    "vision_model.embeddings.class_embedding": "embedding",
    "model.layers.0.self_attn.sinks": "self_attn.sinks",
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name: str) -> None:
    kind = kind_of(name, (768,))
    assert (kind.kind, kind.matrix) == (VECTORS[name], False)


@pytest.mark.parametrize(
    ("name", "shape", "matrix"),
    [
        ("w", (3, 2), True),
        ("w", (1, 197, 768), True),
        ("conv.weight", (8, 1, 3, 3), True),
        ("w", (1, 1, 768), False),
        ("w", (64, 1), False),
        ("w", (), False),
        ("model.layers.0.mlp.experts.gate_up_proj_bias", (32, 5760), False),
        ("final_logits_bias", (1, 50265), False),
        ("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", (32, 8), True),
        ("norm.weight", (64, 64), True),  # of several axes: a weight, whatever its name
    ],
)
def test_shapes(name: str, shape: tuple[int, ...], matrix: bool) -> None:
    assert kind_of(name, shape).matrix == matrix


def test_every_pattern_is_needed_by_some_name() -> None:
    """Of kinds, contexts and parts: those without an example here are listed."""
    names = [n for of in MATRICES.values() for n in of] + list(VECTORS)
    dotted = [f".{n.rpartition(':')[2].lower().replace('/', '.')}." for n in names]
    unused = {
        str(row.get("kind", row.get("stack", row.get("name"))))
        for table in ("kinds", "contexts", "stacks", "vectors")
        for row in read_toml(str(TABLE))[table]
        if not any(re.search(row["pattern"], x) for x in dotted)
    }
    assert unused == {"query down", "key and value up", "down", "up"}  # DeepSeek's pairs; U-Nets


def test_the_table_of_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| (\w*) ?\| ([\d.]*) ?\| (.*) \|$", page, re.MULTILINE)
    assert len(rows) == 6
    for name, part, layer, kind in rows:
        x = what_of(name, (16, 32))
        assert (x["part"], x["layer"], x["kind"]) == (part, layer, kind), name
